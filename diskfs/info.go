package diskfs

import "github.com/workspacefs/workspacefs/provider"

// info is a snapshot of one object, in the plain form that the face hands on
// without copying.
type info = provider.Info
