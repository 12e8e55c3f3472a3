package diskfs

// lockState is what an attempt to lock a temporary found.
type lockState uint8

const (
	lockNone lockState = iota // this system or storage has no locks
	lockHeld
	lockBusy // somebody else holds it
)
