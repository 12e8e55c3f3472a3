package conformance_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// face is one afero.Fs of the comparison.
type face struct {
	name  string
	newFs func(t testing.TB) afero.Fs
	known map[string]string
}

// policed is policyfs over a provider, with a policy that allows everything that
// an afero.Fs without a policy would.
func policed(t testing.TB, p provider.Provider) afero.Fs {
	t.Cleanup(func() { p.Close() })
	all := []string{"/"}
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: all, AllowWrite: all, AllowHidden: all, AllowRecursiveDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	return policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policy})
}

func faces() []face {
	return []face{
		{name: "policyfs over memfs", newFs: func(t testing.TB) afero.Fs { return policed(t, memfs.New(memfs.Options{})) }},
		{name: "policyfs over diskfs", newFs: func(t testing.TB) afero.Fs {
			p, err := diskfs.Open(t.TempDir(), diskfs.Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			return policed(t, p)
		}},
		{name: "OsFs", newFs: func(t testing.TB) afero.Fs {
			t.Chdir(t.TempDir())
			return afero.NewOsFs()
		}},
		{name: "BasePathFs", known: knownBasePathFs, newFs: func(t testing.TB) afero.Fs {
			return afero.NewBasePathFs(afero.NewOsFs(), t.TempDir())
		}},
		{name: "MemMapFs", known: knownMemMapFs, newFs: func(t testing.TB) afero.Fs { return afero.NewMemMapFs() }},
	}
}

// knownBasePathFs are the deviations of afero.BasePathFs over afero.OsFs, as of
// afero v1.15.0.
var knownBasePathFs = map[string]string{
	"FS-path-errors":          "errors hold the path of the host",
	"FS-link-errors":          "errors hold the paths of the host",
	"FS-handle-errors":        "errors hold the path of the host",
	"FS-no-host-path":         "errors hold the path of the host",
	"FS-name-is-the-spelling": "names are cleaned and absolute",
	"FS-remove-nothing":       `RemoveAll("") removes the base directory`,
	"FS-trailing-slash":       "a trailing slash is dropped, on files too",
}

// knownMemMapFs are the deviations of afero.MemMapFs, as of afero v1.15.0.
var knownMemMapFs = map[string]string{
	"FS-file-as-directory":                 "a file can have names below it",
	"FS-path-errors":                       "names are cleaned",
	"FS-link-errors":                       "Rename returns *fs.PathError",
	"FS-error-ops":                         "Stat says open",
	"FS-handle-errors":                     "errors of a File are bare texts",
	"FS-create-truncates-the-same-file":    "Create makes another file under the name",
	"FS-create-needs-a-parent":             "missing parents are made",
	"FS-directory-for-writing":             "directories open for writing",
	"FS-write-handle-does-not-read":        "O_WRONLY reads",
	"FS-create-for-reading-does-not-write": "O_RDONLY|O_CREATE writes",
	"FS-name-is-the-spelling":              "names are cleaned, and change when the file is renamed",
	"FS-bad-seeks":                         "the cursor becomes negative, and the next Read panics",
	"FS-read-at-leaves-the-cursor":         "WriteAt moves the cursor",
	"FS-read-at-end":                       "a short ReadAt has no error",
	"FS-negative-offset":                   "ReadAt panics",
	"FS-truncate":                          "a negative size is an error of its own",
	"FS-append":                            "the end is looked up once, at the open",
	"FS-write-at-and-append":               "WriteAt works on O_APPEND",
	"FS-closed":                            "errors of a closed File are not fs.ErrClosed, or none",
	"FS-directory-is-no-file":              "a directory reads as an empty file",
	"FS-directory-rewinds":                 "listings do not begin again",
	"FS-mkdirall":                          "a file in the way is no error",
	"FS-remove-full-directory":             "full directories are removed",
	"FS-remove-nothing":                    `RemoveAll("") removes everything`,
	"FS-rename-over-directory":             "directories are replaced",
	"FS-rename-directory-over-file":        "files are replaced by directories",
	"FS-rename-into-itself":                "the tree is lost",
	"FS-rename-to-missing-directory":       "missing parents are made",
	"FS-spellings":                         "./d and d are two directories to some methods",
	"FS-trailing-slash":                    "a trailing slash is dropped, on files too",
	"FS-empty-name":                        `"" can be created`,
	"FS-NUL":                               "NUL is a character of names",
	"FS-long-name":                         "names have any length",
	"FS-root-stays":                        "the root can be removed",
	"FS-exclusive-has-one-winner":          "sometimes two win",
	"FS-appends-are-whole":                 "Files that were opened at the same end write over each other",
	"FS-afero-writer":                      "writing below a file is no error",
	"FS-io-fs":                             "reads at the end have no error",
}

// TestComparison writes how the faces compare, for the README.
func TestComparison(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the table is that of Linux")
	}
	if testing.Short() {
		t.Skip("TestFaces holds the same outcomes against the lists of known ones")
	}
	all := faces()
	var rows strings.Builder
	held := make([]int, len(all))
	reqs := conformance.FsRequirements()
	for _, r := range reqs {
		fmt.Fprintf(&rows, "| %s |", strings.TrimPrefix(r.ID, "FS-"))
		for i, f := range all {
			var out conformance.Examined
			t.Run(f.name+"/"+r.ID, func(t *testing.T) { out = conformance.ExamineFs(t, f.newFs, r.ID) })
			if strings.HasPrefix(f.known[r.ID], "sometimes") {
				rows.WriteString(" not always |")
				continue
			}
			if out.Fails {
				rows.WriteString(" no |")
				continue
			}
			held[i]++
			rows.WriteString(" yes |")
		}
		fmt.Fprintf(&rows, " %s |\n", cell(r.Statement))
	}
	var head, line, sums strings.Builder
	for i, f := range all {
		fmt.Fprintf(&head, " %s |", f.name)
		line.WriteString("---|")
		fmt.Fprintf(&sums, " **%d of %d** |", held[i], len(reqs))
	}
	golden(t, "COMPARISON.md", "<!-- generated by go test ./conformance -run TestComparison -update -->\n\n# Drop-ins compared\n\n"+
		"Which requirements of [`conformance.RunFs`](fs_run.go) hold, on Linux. OsFs and BasePathFs serve a temporary\n"+
		"directory; policyfs has a policy that allows everything. afero is v1.15.0.\n\n"+
		"| requirement |"+head.String()+" |\n|---|"+line.String()+"---|\n| **all** |"+sums.String()+" |\n"+rows.String())
}

// TestFaces runs the requirements of a drop-in over every face, each with its
// list of known deviations.
func TestFaces(t *testing.T) {
	for _, f := range faces() {
		t.Run(f.name, func(t *testing.T) { conformance.RunFs(t, f.newFs, f.known) })
	}
}
