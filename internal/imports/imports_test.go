//go:build !js && !wasip1

package imports

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/workspacefs/workspacefs"

// direct lists, per exported package, what its non-test code may import beside
// the standard library. Entries without a dot are packages of this module. A
// package below X/internal obeys the row of X.
var direct = map[string][]string{
	"provider":         {},
	"memfs":            {"provider"},
	"diskfs":           {"provider", "golang.org/x/sys"},
	"provider/aferofs": {"provider", "github.com/spf13/afero"},
	"namespace":        {"provider"},
	"policyfs":         {"namespace", "provider", "github.com/spf13/afero", "github.com/bmatcuk/doublestar/v4", "golang.org/x/text"},
	"conformance":      {"provider", "github.com/spf13/afero", "github.com/google/go-cmp", "github.com/stretchr/testify"},
}

// requirements are the only direct requirements that the root go.mod may have.
var requirements = []string{
	"github.com/bmatcuk/doublestar/v4",
	"github.com/google/go-cmp",
	"github.com/spf13/afero",
	"github.com/stretchr/testify",
	"golang.org/x/sys",
	"golang.org/x/text",
}

// transitive are modules that a requirement brings with it.
var transitive = map[string][]string{
	"github.com/spf13/afero": {"golang.org/x/text"},
	"github.com/stretchr/testify": {
		"github.com/davecgh/go-spew", "github.com/pmezard/go-difflib", "gopkg.in/yaml.v3", "go.yaml.in/yaml/v3",
	},
}

// platforms are those whose build tags select different files.
var platforms = []string{"linux/amd64", "darwin/arm64", "windows/amd64", "freebsd/amd64", "js/wasm", "wasip1/wasm"}

type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

// goList runs go list -deps on the root module only, for one platform.
func goList(t *testing.T, platform string) map[string]listed {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,Module", module+"/...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v\n%s", platform, err, stderr.String())
	}
	packages := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	return packages
}

// owner is the table row that governs a package of this module, and whether the
// package is a test helper below the module's own internal directory.
func owner(path string) (row string, helper bool) {
	rel := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if rel == "internal" || strings.HasPrefix(rel, "internal/") {
		return rel, true
	}
	row, _, _ = strings.Cut(rel, "/internal")
	return row, false
}

// permits reports whether an allowed entry covers an imported package.
func permits(allowed, imported string) bool {
	return imported == allowed || strings.HasPrefix(imported, allowed+"/")
}

func TestImportTable(t *testing.T) {
	for _, platform := range platforms {
		t.Run(strings.ReplaceAll(platform, "/", "_"), func(t *testing.T) {
			t.Parallel()
			packages := goList(t, platform)
			seen := map[string]bool{}
			for path, p := range packages {
				if path != module && !strings.HasPrefix(path, module+"/") {
					continue
				}
				row, helper := owner(path)
				if helper {
					continue
				}
				allowed, known := direct[row]
				if !known {
					t.Errorf("package %s is not in the table of DESIGN.md section 1", path)
					continue
				}
				seen[row] = true
				for _, imported := range p.Imports {
					if problem := judgeImport(row, allowed, imported, packages[imported]); problem != "" {
						t.Errorf("%s imports %s: %s", path, imported, problem)
					}
				}
				for _, dep := range p.Deps {
					if problem := judgeDep(row, packages[dep]); problem != "" {
						t.Errorf("%s depends on %s: %s", path, dep, problem)
					}
				}
			}
			if missing := slices.DeleteFunc(slices.Sorted(maps.Keys(direct)), func(row string) bool { return seen[row] }); len(missing) > 0 {
				t.Logf("packages of the table that have no files for this platform: %v", missing)
			}
		})
	}
}

// judgeImport says what is wrong with one direct import, or "".
func judgeImport(row string, allowed []string, imported string, p listed) string {
	if p.Standard {
		return ""
	}
	if imported == "C" {
		return "the library is pure Go"
	}
	if strings.HasPrefix(imported, module+"/") {
		target, helper := owner(imported)
		switch {
		case helper:
			return "the module's internal packages are for tests"
		case target == row:
			return ""
		case slices.Contains(allowed, target) && !strings.Contains(imported, "/internal/"):
			return ""
		}
		return "not along policyfs -> namespace -> provider <- memfs, diskfs"
	}
	if slices.ContainsFunc(allowed, func(a string) bool { return permits(a, imported) }) {
		return ""
	}
	return "not in the package's row of the table"
}

// judgeDep says why a package may not reach another one, however indirectly.
func judgeDep(row string, p listed) string {
	if p.Standard || p.ImportPath == "" {
		return ""
	}
	reach := map[string]bool{row: true}
	var add func(string)
	add = func(name string) {
		for _, a := range direct[name] {
			if !reach[a] {
				reach[a] = true
				add(a)
			}
		}
		for _, a := range transitive[name] {
			reach[a] = true
		}
	}
	add(row)
	if strings.HasPrefix(p.ImportPath, module+"/") {
		if target, helper := owner(p.ImportPath); helper || !reach[target] {
			return "not reachable in the table"
		}
		return ""
	}
	if p.Module == nil || !reach[p.Module.Path] {
		return "its module is not reachable in the table"
	}
	return ""
}

func TestRootRequirements(t *testing.T) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	var mod struct {
		Go        string
		Toolchain string
		Require   []struct {
			Path     string
			Indirect bool
		}
		Replace, Exclude []any
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	var have []string
	for _, r := range mod.Require {
		if !r.Indirect {
			have = append(have, r.Path)
		}
	}
	assert.ElementsMatch(t, requirements, have, "direct requirements of the root module")
	assert.Equal(t, "1.26.5", mod.Go)
	assert.Empty(t, mod.Toolchain, "a toolchain line binds users")
	assert.Empty(t, mod.Replace, "users of the library do not inherit replace directives")
	assert.Empty(t, mod.Exclude, "users of the library do not inherit exclude directives")
}
