package provider_test

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// TestErrorRelations pins what every sentinel is under errors.Is, and that no
// sentinel is another one.
func TestErrorRelations(t *testing.T) {
	sentinels := map[string]error{
		"ErrPath": provider.ErrPath, "ErrSymlink": provider.ErrSymlink, "ErrIrregular": provider.ErrIrregular,
		"ErrQuota": provider.ErrQuota, "ErrConflict": provider.ErrConflict, "ErrHardLink": provider.ErrHardLink,
		"ErrTooMany": provider.ErrTooMany,
	}
	broader := map[string]error{
		"ErrPath": fs.ErrInvalid, "ErrSymlink": fs.ErrPermission, "ErrIrregular": fs.ErrPermission,
		"ErrQuota": syscall.EDQUOT, "ErrConflict": fs.ErrExist, "ErrHardLink": fs.ErrPermission,
	}
	others := []error{fs.ErrInvalid, fs.ErrPermission, fs.ErrExist, fs.ErrNotExist, fs.ErrClosed, syscall.EDQUOT, syscall.EINVAL, syscall.ENOTDIR}
	for name, err := range sentinels {
		for other, target := range sentinels {
			if got := errors.Is(err, target); got != (name == other) {
				t.Errorf("errors.Is(%s, %s) = %v", name, other, got)
			}
		}
		for _, target := range others {
			if got := errors.Is(err, target); got != (broader[name] == target) {
				t.Errorf("errors.Is(%s, %v) = %v", name, target, got)
			}
		}
		wrapped := &fs.PathError{Op: "open", Path: "x", Err: err}
		if !errors.Is(wrapped, err) {
			t.Errorf("%s is lost in a *PathError", name)
		}
	}
	_, err := provider.ParsePath("..")
	if !errors.Is(err, provider.ErrPath) || err == provider.ErrPath {
		t.Errorf("ParsePath(..) = %v: want ErrPath with a reason", err)
	}
	if os.IsNotExist(provider.ErrPath) || os.IsExist(provider.ErrConflict) {
		t.Error("os.IsNotExist and os.IsExist look at errno and io/fs sentinels only")
	}
}
