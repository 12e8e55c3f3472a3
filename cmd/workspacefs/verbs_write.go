package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/listing"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// maxInput bounds what write takes from standard input, as policyfs.Options
// bounds a file by default.
const maxInput = 256 << 20

type writeCmd struct {
	New    bool   `help:"Only if nothing is there yet." xor:"condition"`
	Match  string `placeholder:"DIGEST" help:"Only if the file still has this digest, as stat --digest prints it." xor:"condition"`
	Append bool   `short:"a" help:"Add to the end instead of replacing." xor:"condition"`
	Path   string `arg:"" help:"The file."`
}

func (w *writeCmd) Run(t *terminal, c *cli) error {
	var opts provider.ReplaceOptions
	switch {
	case w.New:
		opts.If = provider.IfAbsent()
	case w.Match != "":
		digest, err := provider.ParseDigest(w.Match)
		if err != nil {
			return usageError("--match: %v", err)
		}
		opts.If = provider.IfMatch(digest)
	}
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	// Refused before the input is read: whoever types it should know at once.
	if err := f.Authorize(policyfs.OpWrite, w.Path); err != nil {
		return &failure{"write", w.Path, err}
	}
	data, err := io.ReadAll(io.LimitReader(t.in, maxInput+1))
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if len(data) > maxInput {
		return &failure{"write", w.Path, &fs.PathError{Op: "write", Path: w.Path, Err: syscall.EFBIG}}
	}
	if w.Append {
		return w.append(f, data)
	}
	digest, err := f.WriteFile(w.Path, data, opts)
	if err != nil {
		return &failure{"write", w.Path, err}
	}
	if t.json {
		return t.emit(item{Path: w.Path, Type: "file", Size: int64(len(data)), Digest: digest.String()})
	}
	return nil
}

func (w *writeCmd) append(f *policyfs.FS, data []byte) error {
	file, err := f.OpenFile(w.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return &failure{"write", w.Path, err}
	}
	_, err = file.Write(data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return &failure{"write", w.Path, err}
	}
	return nil
}

type mkdirCmd struct {
	Parents bool     `short:"p" help:"Make missing parents too; an existing directory is no error."`
	Path    []string `arg:"" help:"Directories to make."`
}

func (m *mkdirCmd) Run(t *terminal, c *cli) error {
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	mkdir := f.Mkdir
	if m.Parents {
		mkdir = f.MkdirAll
	}
	for _, p := range m.Path {
		if err := mkdir(p, 0o755); err != nil {
			t.report("mkdir", p, err)
		}
	}
	return nil
}

type mvCmd struct {
	Force bool   `short:"f" help:"Replace a file that is there."`
	Old   string `arg:"" help:"What to move."`
	New   string `arg:"" help:"Its new name, or an existing directory to move it into."`
}

func (m *mvCmd) Run(t *terminal, c *cli) error {
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	target := m.New
	if info, err := f.Stat(target); err == nil && info.IsDir() {
		target = listing.Join(target, path.Base(m.Old))
	}
	if err := f.Move(m.Old, target, provider.RenameOptions{NoReplace: !m.Force}); err != nil {
		return &failure{"mv", m.Old, err}
	}
	return nil
}

type rmCmd struct {
	Recursive bool     `short:"r" help:"Remove directories too, with everything below them, which the policy must allow (allow_recursive_delete)."`
	Force     bool     `short:"f" help:"A missing file is no error."`
	Path      []string `arg:"" help:"Files, or directories with -r."`
}

func (r *rmCmd) Run(t *terminal, c *cli) error {
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range r.Path {
		if err := r.remove(f, p); err != nil {
			t.report("rm", p, err)
		}
	}
	return nil
}

func (r *rmCmd) remove(f *policyfs.FS, name string) error {
	// A refusal comes first: it says nothing about what is there. Of the links that
	// Authorize refuses, Remove and RemoveAll unlink the one that name ends in.
	if err := f.Authorize(policyfs.OpRemove, name); err != nil && !errors.Is(err, provider.ErrSymlink) {
		return err
	}
	info, _, err := f.LstatIfPossible(name)
	switch {
	case err == nil && info.IsDir() && !r.Recursive:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.EISDIR}
	case r.Recursive && (r.Force || err == nil):
		return f.RemoveAll(name)
	}
	err = f.Remove(name)
	if r.Force && isMissing(err) {
		return nil
	}
	return err
}
