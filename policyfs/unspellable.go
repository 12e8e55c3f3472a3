package policyfs

import (
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/namespace"
)

// Unspellable counts the entries of the directory that no listing shows because
// no path can name them: a backslash, a control character, a bidirectional control
// or invalid UTF-8 is in the name. It reads the directory anew and moves no
// position. Policy judges each under its name with U+FFFD for what cannot be
// spelled, so that what is hidden, sensitive or denied stays uncounted; what has no
// path for its length alone is not counted either.
func (f *File) Unspellable() (int, error) {
	n, err := f.unspellable()
	return n, f.err("readdirent", err)
}

func (f *File) unspellable() (int, error) {
	if err := f.open(); err != nil {
		return 0, err
	}
	if !f.mode.read {
		return 0, f.alive(syscall.ENOTDIR)
	}
	raw, err := listed(f.f.ReadDir(maxListing))
	if err != nil {
		return 0, err
	}
	v, count := f.view(), 0
	for _, e := range raw {
		name := e.Name()
		if _, err := f.path.Join(name); err == nil || name == "" {
			continue
		}
		if v.showsRespelled(f.path, name, e.IsDir()) {
			count++
		}
	}
	return count, nil
}

// showsRespelled reports whether a listing of dir would show an entry whose name no
// path can spell, if that name held something else in the place of what cannot be
// spelled, and nothing.
func (v *view) showsRespelled(dir namespace.Path, name string, isDir bool) bool {
	without, with := respell(name, -1), respell(name, utf8.RuneError)
	return v.showsAs(dir, with, isDir) && (without == "" || v.showsAs(dir, without, isDir))
}

// showsAs reports whether a listing of dir would show an entry of this name.
func (v *view) showsAs(dir namespace.Path, name string, isDir bool) bool {
	c := newCursor(v.pol, dir)
	if !c.entry(name, isDir) {
		return false
	}
	for _, a := range v.aliasCursors(dir) {
		if !a.entry(name, isDir) {
			return false
		}
	}
	return true
}

// respell replaces every character that no path may hold; -1 drops it.
func respell(name string, by rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, r < 0x20, 0x7f <= r && r <= 0x9f, r == '\\', r == '/', 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
			return by
		}
		return r
	}, name)
}
