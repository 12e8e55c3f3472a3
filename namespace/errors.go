package namespace

import "io/fs"

// invalid is fs.ErrInvalid with what is wrong, for mistakes of the program that
// builds a table.
type invalid string

func (e invalid) Error() string { return string(e) }

// Unwrap returns the broader condition.
func (e invalid) Unwrap() error { return fs.ErrInvalid }
