package diskfs

import "github.com/workspacefs/workspacefs/provider"

// OpenPortable opens dir with the walk for systems other than Linux.
func OpenPortable(dir string, opts Options) (provider.Provider, error) {
	return openPortable(dir, opts)
}

// IsReserved, FoldReserved and TempName give tests the name pattern.
var (
	IsReserved   = isReserved
	FoldReserved = foldReserved
	TempName     = tempName
	WindowsErrno = windowsErrno
	Bare         = bare
	MayBeAlias   = mayBeAlias
)
