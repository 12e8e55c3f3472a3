package namespace

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// hostile names for directories and labels: each would end an argument, begin
// another or change the meaning of one if it were not quoted.
var hostile = []string{
	"a,readonly=false", "a:b:rw", `q"uo"te`, `"`, "--privileged", "-v", "a b", "$(id)", "`id`", "a'b", "a=b,target=/etc", "x,source=/", "#", "a;b", "a\nb", "a,\n\"b", " lead", "trail ", "é", "\\",
}

func TestRenderHostileNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows lacks these names")
	}
	for i, name := range hostile {
		top := dirs(t, name)
		dir := filepath.Join(top, name)
		access := Access(i % 2)
		n := grantDisk(t, Portable, Grant{Dir: dir, Label: name, Kind: KindFolder, Access: access})
		at := "/mnt/" + MountName(name)
		want := BindMount{HostDir: dir, At: at, ReadOnly: access == ReadOnly}
		if got := n.BindMounts(); len(got) != 1 || got[0] != want {
			t.Errorf("%q: BindMounts %+v", name, got)
		}
		args, err := n.DockerArgs()
		if err != nil || len(args) != 2 || args[0] != "--mount" {
			t.Errorf("%q: DockerArgs %q, %v", name, args, err)
			continue
		}
		fields, err := csv.NewReader(strings.NewReader(args[1])).ReadAll()
		wantFields := []string{"type=bind", "source=" + dir, "target=" + at}
		if access == ReadOnly {
			wantFields = append(wantFields, "readonly", "bind-propagation=rprivate", "bind-recursive=readonly")
		}
		if err != nil || !reflect.DeepEqual(fields, [][]string{wantFields}) {
			t.Errorf("%q: docker reads %q, %v", name, fields, err)
		}
		args, files, err := n.BubblewrapArgs(7)
		for _, f := range files {
			f.Close()
		}
		option := map[Access]string{ReadOnly: "--ro-bind-fd", ReadWrite: "--bind-fd"}[access]
		if err != nil || runtime.GOOS == "linux" && !reflect.DeepEqual(args, []string{option, "7", at}) {
			t.Errorf("%q: BubblewrapArgs %q, %v", name, args, err)
		}
	}

	// A carriage return does not survive docker's CSV.
	top := dirs(t, "a\r\nb")
	n := grantDisk(t, Portable, Grant{Dir: filepath.Join(top, "a\r\nb"), Label: "x"})
	if args, err := n.DockerArgs(); !errors.Is(err, fs.ErrInvalid) || strings.Contains(err.Error(), top) {
		t.Errorf("carriage return: %q, %v", args, err)
	}

	// In Host mode, hostile names are agent roots too, if they can be spelled.
	for _, name := range hostile {
		top := dirs(t, name)
		dir := filepath.Join(top, name)
		n, err := FromGrants(Host, openDisk, Grant{Dir: dir})
		if strings.ContainsAny(name, "\n\\") {
			if err == nil {
				t.Errorf("%q: an agent root that cannot be spelled", name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		args, err := n.DockerArgs()
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		fields, err := csv.NewReader(strings.NewReader(args[1])).Read()
		if err != nil || fields[1] != "source="+dir || fields[2] != "target="+dir {
			t.Errorf("%q: docker reads %q, %v", name, fields, err)
		}
		n.Close()
	}
}

// Without descriptors, paths are given; a mount without a host directory is left
// out, and a provider's refusal is an error.
func TestRenderOtherProviders(t *testing.T) {
	top := dirs(t, "w", "x")
	w := filepath.Join(top, "w")
	n := mustNew(t, Mount{At: "/workspace", Access: ReadWrite, Provider: mem(), HostDir: w}, Mount{At: "/memory", Provider: mem()}, Mount{At: "/x", Provider: mem(), HostDir: filepath.Join(top, "x")})
	args, files, err := n.BubblewrapArgs(3)
	if want := []string{"--bind", w, "/workspace", "--ro-bind", filepath.Join(top, "x"), "/x"}; err != nil || len(files) != 0 || !reflect.DeepEqual(args, want) {
		t.Errorf("%q, %v, %v", args, files, err)
	}
	n = grantDisk(t, Portable, Grant{Dir: w, Label: "w"})
	n.Close()
	if args, files, err := n.BubblewrapArgs(3); err == nil {
		t.Errorf("closed: %q, %v", args, files)
	}
}

// TestBindMountsNested: what is mounted in another mount is spelled both ways,
// where the outer directory has a place for it.
func TestBindMountsNested(t *testing.T) {
	top := dirs(t, "w/data", "d", "e", "w/opt")
	in := func(name string) string { return filepath.Join(top, name) }
	n := mustNew(t,
		Mount{At: "/workspace", Access: ReadWrite, Provider: mem(), HostDir: in("w")},
		Mount{At: "/data", Provider: mem(), HostDir: in("d")},
		Mount{At: "/extra", Provider: mem(), HostDir: in("e")},
		Mount{At: "/workspace/opt", Provider: mem(), HostDir: in("e")})
	want := []BindMount{
		{in("d"), "/data", true}, {in("e"), "/extra", true}, {in("w"), "/workspace", false}, {in("d"), "/workspace/data", true}, {in("e"), "/workspace/opt", true},
	}
	if got := n.BindMounts(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	// And the other way round.
	n = mustNew(t, Mount{At: "/w", Provider: mem(), HostDir: in("w")}, Mount{At: "/workspace/w/data", Provider: mem(), HostDir: in("d")})
	want = []BindMount{{in("w"), "/w", true}, {in("d"), "/w/data", true}, {in("d"), "/workspace/w/data", true}}
	if got := n.BindMounts(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(in("w/data")); err != nil {
		t.Fatal(err)
	}
	if got := n.BindMounts(); len(got) != 2 {
		t.Errorf("no place for it: %+v", got)
	}
}
