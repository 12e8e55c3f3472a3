package policyfs

import (
	"errors"
	"io/fs"

	"github.com/workspacefs/workspacefs/provider"
)

// errNoAnswer is what Audit learns of a provider that breaks its contract. Callers
// see an input/output error, as with everything that is not a known condition.
var errNoAnswer = errors.New("the provider returned neither a result nor an error")

// described, opened and listed hold a provider to its contract where its answer
// arrives: without an error there is a result, or using it would be a panic in the
// caller's goroutine.

func described(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if info == nil && err == nil {
		err = errNoAnswer
	}
	return info, err
}

func opened(f provider.File, err error) (provider.File, error) {
	if f == nil && err == nil {
		err = errNoAnswer
	}
	return f, err
}

func listed(entries []fs.DirEntry, err error) ([]fs.DirEntry, error) {
	if err != nil {
		return entries, err
	}
	for _, e := range entries {
		if e == nil {
			return nil, errNoAnswer
		}
	}
	return entries, nil
}

// eachEntry calls visit with what the directory f lists.
func eachEntry(f provider.File, limit int, visit func(name string, typ fs.FileMode)) error {
	if r, ok := f.(provider.EntryReader); ok {
		return r.ReadEntries(limit, visit)
	}
	list, err := listed(f.ReadDir(limit))
	if err != nil {
		return err
	}
	for _, e := range list {
		visit(e.Name(), e.Type())
	}
	return nil
}
