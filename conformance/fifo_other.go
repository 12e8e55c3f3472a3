//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package conformance

import "errors"

// canFIFO says whether the suite can make what is neither file nor directory.
const canFIFO = false

func makeFIFO(string) error { return errors.ErrUnsupported }
