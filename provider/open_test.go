package provider_test

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

func TestParseFlag(t *testing.T) {
	for _, tt := range []struct {
		name string
		flag int
		want provider.OpenOptions
	}{
		{"RDONLY", os.O_RDONLY, provider.OpenOptions{Read: true}},
		{"WRONLY", os.O_WRONLY, provider.OpenOptions{Write: true}},
		{"RDWR", os.O_RDWR, provider.OpenOptions{Read: true, Write: true}},
		{"APPEND", os.O_WRONLY | os.O_APPEND, provider.OpenOptions{Write: true, Append: true}},
		{"RDONLY|CREATE", os.O_RDONLY | os.O_CREATE, provider.OpenOptions{Read: true, Create: true}},
		{"RDONLY|TRUNC", os.O_RDONLY | os.O_TRUNC, provider.OpenOptions{Read: true, Truncate: true}},
		{"Create", os.O_RDWR | os.O_CREATE | os.O_TRUNC, provider.OpenOptions{Read: true, Write: true, Create: true, Truncate: true}},
		{"EXCL", os.O_WRONLY | os.O_CREATE | os.O_EXCL, provider.OpenOptions{Write: true, Create: true, Exclusive: true}},
		{"SYNC", os.O_WRONLY | os.O_SYNC, provider.OpenOptions{Write: true}},
	} {
		got, err := provider.ParseFlag(tt.flag, 0o4755|fs.ModeSetuid|fs.ModeDir)
		tt.want.Perm = 0o755
		if err != nil || got != tt.want {
			t.Errorf("ParseFlag(%s) = %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	for name, flag := range map[string]int{
		"access mode 3":         os.O_WRONLY | os.O_RDWR,
		"access mode 3, CREATE": os.O_WRONLY | os.O_RDWR | os.O_CREATE,
		"an unknown bit":        1 << 30,
		"the sign bit":          -1 << 31,
		"all bits":              -1,
	} {
		if got, err := provider.ParseFlag(flag, 0o644); !errors.Is(err, syscall.EINVAL) || got != (provider.OpenOptions{}) {
			t.Errorf("ParseFlag(%s) = %+v, %v; want EINVAL", name, got, err)
		}
	}
}

func TestOpenOptionsCheck(t *testing.T) {
	for _, tt := range []struct {
		opts    provider.OpenOptions
		ok      bool
		mutates bool
	}{
		{provider.OpenOptions{}, false, false},
		{provider.OpenOptions{Read: true}, true, false},
		{provider.OpenOptions{Write: true}, true, true},
		{provider.OpenOptions{Append: true}, false, true},
		{provider.OpenOptions{Create: true}, false, true},
		{provider.OpenOptions{Read: true, Append: true}, true, true},
		{provider.OpenOptions{Read: true, Create: true}, true, true},
		{provider.OpenOptions{Read: true, Truncate: true}, true, true},
		{provider.OpenOptions{Read: true, Exclusive: true}, true, false},
		{provider.OpenOptions{Read: true, Directory: true}, true, false},
		{provider.OpenOptions{Read: true, Exclusive: true, Directory: true}, true, false},
		{provider.OpenOptions{Directory: true}, false, false},
		{provider.OpenOptions{Write: true, Directory: true}, false, true},
		{provider.OpenOptions{Read: true, Write: true, Directory: true}, false, true},
		{provider.OpenOptions{Read: true, Append: true, Directory: true}, false, true},
		{provider.OpenOptions{Read: true, Create: true, Directory: true}, false, true},
		{provider.OpenOptions{Read: true, Truncate: true, Directory: true}, false, true},
	} {
		if err := tt.opts.Check(); tt.ok != (err == nil) || err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%+v.Check() = %v, want ok %v", tt.opts, err, tt.ok)
		}
		if got := tt.opts.Mutates(); got != tt.mutates {
			t.Errorf("%+v.Mutates() = %v", tt.opts, got)
		}
	}
}

func TestFileModes(t *testing.T) {
	for in, want := range map[fs.FileMode]fs.FileMode{
		0:                             provider.DefaultPerm,
		0o600:                         0o600,
		0o777 | fs.ModeSetuid:         0o777,
		fs.ModeSticky | fs.ModeSetgid: 0,
	} {
		if got := (provider.OpenOptions{Perm: in}).FileMode(); got != want {
			t.Errorf("OpenOptions{Perm: %v}.FileMode() = %v, want %v", in, got, want)
		}
		if got := (provider.ReplaceOptions{Perm: in}).FileMode(); got != want {
			t.Errorf("ReplaceOptions{Perm: %v}.FileMode() = %v, want %v", in, got, want)
		}
	}
}
