package policyfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// faceCall is one way of calling the face with names. Several matrices use the
// table; TestEveryMethodIsInTheMatrix sees to it that no method is missing.
type faceCall struct {
	method string // the method of FS
	label  string
	names  int  // how many names it takes
	reads  bool // changes nothing
	quiet  bool // tells a refusal by an empty answer, not by an error
	do     func(f *policyfs.FS, names ...string) (string, error)
}

// openFlags are all legal combinations of flags.
func openFlags() []int {
	var flags []int
	for _, mode := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
		for bits := range 16 {
			flag := mode
			for i, f := range []int{os.O_CREATE, os.O_EXCL, os.O_TRUNC, os.O_APPEND} {
				if bits&(1<<i) != 0 {
					flag |= f
				}
			}
			flags = append(flags, flag)
		}
	}
	return flags
}

func flagText(flag int) string {
	text := []string{"RDONLY", "WRONLY", "RDWR"}[flag&3]
	for _, f := range []struct {
		bit  int
		name string
	}{{os.O_CREATE, "CREATE"}, {os.O_EXCL, "EXCL"}, {os.O_TRUNC, "TRUNC"}, {os.O_APPEND, "APPEND"}, {os.O_SYNC, "SYNC"}} {
		if flag&f.bit != 0 {
			text += "|" + f.name
		}
	}
	return text
}

var allOps = []policyfs.Op{
	policyfs.OpRead, policyfs.OpStat, policyfs.OpList, policyfs.OpCreate, policyfs.OpWrite,
	policyfs.OpRemove, policyfs.OpRemoveTree, policyfs.OpMoveTree,
}

// readOp reports whether an op only looks.
func readOp(op policyfs.Op) bool {
	return op == policyfs.OpRead || op == policyfs.OpStat || op == policyfs.OpList
}

// faceCalls returns the table.
func faceCalls() []faceCall {
	one := func(method string, reads bool, do func(f *policyfs.FS, name string) (string, error)) faceCall {
		return faceCall{method: method, label: method, names: 1, reads: reads, do: func(f *policyfs.FS, names ...string) (string, error) {
			return do(f, names[0])
		}}
	}
	none := func(err error) (string, error) { return "", err }
	calls := []faceCall{
		one("Create", false, func(f *policyfs.FS, name string) (string, error) { return closed(f.Create(name)) }),
		one("Mkdir", false, func(f *policyfs.FS, name string) (string, error) { return none(f.Mkdir(name, 0o755)) }),
		one("MkdirAll", false, func(f *policyfs.FS, name string) (string, error) { return none(f.MkdirAll(name, 0o755)) }),
		one("Open", true, func(f *policyfs.FS, name string) (string, error) {
			h, err := f.Open(name)
			return readHandle(h, err)
		}),
		one("Remove", false, func(f *policyfs.FS, name string) (string, error) { return none(f.Remove(name)) }),
		one("RemoveAll", false, func(f *policyfs.FS, name string) (string, error) { return none(f.RemoveAll(name)) }),
		{method: "Rename", label: "Rename", names: 2, do: func(f *policyfs.FS, names ...string) (string, error) {
			return none(f.Rename(names[0], names[1]))
		}},
		{method: "Move", label: "Move", names: 2, do: func(f *policyfs.FS, names ...string) (string, error) {
			return none(f.Move(names[0], names[1], provider.RenameOptions{NoReplace: true}))
		}},
		one("Stat", true, func(f *policyfs.FS, name string) (string, error) { return info(f.Stat(name)) }),
		one("LstatIfPossible", true, func(f *policyfs.FS, name string) (string, error) {
			i, ok, err := f.LstatIfPossible(name)
			if !ok {
				return "", errors.New("Lstat is not possible")
			}
			return info(i, err)
		}),
		one("Chmod", false, func(f *policyfs.FS, name string) (string, error) { return none(f.Chmod(name, 0o600)) }),
		one("Chown", false, func(f *policyfs.FS, name string) (string, error) { return none(f.Chown(name, 1, 1)) }),
		one("Chtimes", false, func(f *policyfs.FS, name string) (string, error) {
			return none(f.Chtimes(name, fixedTime, fixedTime))
		}),
		one("ReadFile", true, func(f *policyfs.FS, name string) (string, error) {
			data, digest, err := f.ReadFile(name)
			if err != nil {
				return "", err
			}
			return string(data) + digest.String(), nil
		}),
		one("Walk", true, func(f *policyfs.FS, name string) (string, error) {
			var out []string
			var failed error
			for e, err := range f.Walk(name) {
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				out = append(out, e.Name+" "+e.Path.String())
			}
			return strings.Join(out, "\n"), failed
		}),
		one("Grep", true, func(f *policyfs.FS, name string) (string, error) {
			var out []string
			var failed error
			for m, err := range f.Grep(name, policyfs.Query{Pattern: "."}) {
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				out = append(out, fmt.Sprint(m))
			}
			return strings.Join(out, "\n"), failed
		}),
		one("Authorize", true, func(f *policyfs.FS, name string) (string, error) {
			return none(f.Authorize(policyfs.OpRead, name))
		}),
	}
	glob := one("Glob", true, func(f *policyfs.FS, name string) (string, error) {
		names, err := f.Glob(name)
		more, err2 := f.Glob(strings.TrimSuffix(name, "/") + "/**")
		return strings.Join(append(names, more...), "\n"), errors.Join(err, err2)
	})
	glob.quiet = true
	calls = append(calls, glob)
	for _, flag := range openFlags() {
		calls = append(calls, faceCall{
			method: "OpenFile", label: "OpenFile " + flagText(flag), names: 1, reads: flag == os.O_RDONLY,
			do: func(f *policyfs.FS, names ...string) (string, error) {
				return closed(f.OpenFile(names[0], flag, 0o644))
			},
		})
	}
	for label, cond := range map[string]provider.Condition{
		"": {}, " IfAbsent": provider.IfAbsent(), " IfMatch": provider.IfMatch(provider.Digest{}),
	} {
		calls = append(calls, faceCall{
			method: "WriteFile", label: "WriteFile" + label, names: 1,
			do: func(f *policyfs.FS, names ...string) (string, error) {
				_, err := f.WriteFile(names[0], []byte("new"), provider.ReplaceOptions{If: cond})
				return none(err)
			},
		})
	}
	for _, op := range allOps {
		calls = append(calls,
			faceCall{method: "Explain", label: "Explain " + op.String(), names: 1, reads: readOp(op), do: func(f *policyfs.FS, names ...string) (string, error) {
				if d := f.Explain(op, names[0]); !d.Allow {
					return "", &fs.PathError{Op: op.String(), Path: namespace.Quote(names[0]), Err: &policyfs.DeniedError{Op: op, Rule: d.Rule}}
				}
				return none(nil)
			}},
			faceCall{method: "Authorize", label: "Authorize " + op.String(), names: 1, reads: readOp(op), do: func(f *policyfs.FS, names ...string) (string, error) {
				return none(f.Authorize(op, names[0]))
			}},
			faceCall{method: "HostPath", label: "HostPath " + op.String(), names: 1, reads: readOp(op), do: func(f *policyfs.FS, names ...string) (string, error) {
				return f.HostPath(op, names[0])
			}},
		)
	}
	return calls
}

// faceExempt are the exported methods of FS that the table leaves out.
var faceExempt = map[string]string{
	"Name":        "takes no name",
	"WithContext": "derives",
	"WithDir":     "derives; the directory is a namespace.Path and is judged in every call",
	"WithPolicy":  "derives",
	"IOFS":        "derives; its methods are in TestIOFSMatrix",
	"Seed":        "trusted: bypasses the policy by design",
}

// closed closes what an open gave.
func closed(h afero.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return "", h.Close()
}

// readHandle reads everything that a handle tells, and closes it.
func readHandle(h afero.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer h.Close()
	i, err := h.Stat()
	if err != nil {
		return "", err
	}
	if !i.IsDir() {
		data, err := io.ReadAll(h)
		return describe(i) + string(data), err
	}
	list, err := h.Readdir(-1)
	if err != nil {
		return "", err
	}
	text := describe(i)
	for _, i := range list {
		text += "\n" + describe(i)
	}
	return text, nil
}

func info(i fs.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return describe(i), nil
}
