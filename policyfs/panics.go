package policyfs

import (
	"fmt"
	"runtime/debug"
)

// caughtPanic carries a panic of a helper goroutine, of a provider for instance, to
// the goroutine that iterates. Where it happened nobody could recover from it, and
// it would end the process; whoever calls may well do so. It is an error only to
// travel where errors do.
type caughtPanic struct {
	value any
	stack []byte
}

// Error is what the runtime prints if nobody recovers: the value, and the stack of
// the goroutine that panicked.
func (p *caughtPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// catch, deferred, makes a panic an error.
func catch(err *error) {
	if value := recover(); value != nil {
		caught, ok := value.(*caughtPanic)
		if !ok {
			caught = &caughtPanic{value, debug.Stack()}
		}
		*err = caught
	}
}

// rethrow panics if err is a panic that was caught.
func rethrow(err error) {
	if caught, ok := err.(*caughtPanic); ok {
		panic(caught)
	}
}
