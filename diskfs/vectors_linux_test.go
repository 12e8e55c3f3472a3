package diskfs_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestVectors runs the shared attack and bug vectors, which package policyfs
// reads, over the matrix: in a child for which openat2 is not there, too, since
// a filter that a process sets goes to those that it starts. As root with
// openat2 on the temporary directory they run in that package.
func TestVectors(t *testing.T) {
	if !everywhere() {
		t.Skip("in a run of everything: with WORKSPACEFS_REQUIRE_ALL=1 and not -short, or with WORKSPACEFS_LONG=1")
	}
	env := vectorEnv(t)
	for _, s := range storages {
		t.Run(s.name, func(t *testing.T) {
			dir := s.dir(t)
			s.vectorsAt(t, dir, 0, env)
			s.asNobody(t, dir, func(t *testing.T, dir string) { s.vectorsAt(t, dir, nobody, env) })
		})
	}
}

// vectorsAt runs the vectors at dir in both modes.
func (s storage) vectorsAt(t *testing.T, dir string, uid int, env []string) {
	limits := s.vectors
	env = append(slices.Clone(env), vectorDirEnv+"="+dir)
	if limits.unmade > 0 {
		env = append(env, vectorUnmadeEnv+"="+fmt.Sprint(limits.unmade))
	}
	env = append(env, vectorSkipEnv+"="+strings.Join(slices.Sorted(maps.Keys(limits.skip)), "|"))
	for _, m := range s.modes[:2] {
		c := child{uid: uid, run: "^TestPolicyfsVectors$", env: env}
		if m.name == "walk" {
			c.restrictions = []string{"deny=openat2:ENOSYS"}
		}
		if limits.slow {
			c.args = []string{"-test.short"}
		}
		t.Run(m.name, func(t *testing.T) { c.mustPass(t) })
	}
}

// What a child is told: where the other tests are, where they work, how many
// cases the storage cannot hold, and which tests it cannot pass.
const (
	vectorBinaryEnv = "DISKFS_TEST_POLICYFS"
	vectorDirEnv    = "DISKFS_TEST_DIR"
	vectorUnmadeEnv = "DISKFS_TEST_UNMADE"
	vectorSkipEnv   = "DISKFS_TEST_SKIP"
)

// vectorEnv builds the test binary of package policyfs and tells a child where
// it is.
func vectorEnv(t *testing.T) []string {
	t.Helper()
	needProgram(t, "go")
	dir := openDirFor(t)
	binary := filepath.Join(dir, "policyfs.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, "../policyfs").CombinedOutput(); err != nil {
		t.Fatalf("building the tests of policyfs: %v\n%s", err, out)
	}
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS(filepath.Join("..", "policyfs", "testdata"))); err != nil {
		t.Fatal(err)
	}
	return []string{vectorBinaryEnv + "=" + binary}
}

// TestPolicyfsVectors is the child: it only starts the other tests.
func TestPolicyfsVectors(t *testing.T) {
	binary := os.Getenv(vectorBinaryEnv)
	if binary == "" {
		t.Skip("runs in a child process")
	}
	args := []string{"-test.v", "-test.run=^(TestAttackVectors|TestFSBugVectors)$"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	if skip := os.Getenv(vectorSkipEnv); skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = filepath.Dir(binary) // beside its testdata
	cmd.Env = append(os.Environ(), "TMPDIR="+os.Getenv(vectorDirEnv))
	unmade := os.Getenv(vectorUnmadeEnv)
	if unmade != "" {
		cmd.Env = append(cmd.Env, "WORKSPACEFS_TEST_STORAGE_LACKS=something")
	}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Test") < 2 {
		t.Fatalf("%v\n%s", err, failures(string(out)))
	}
	lacks := strings.Count(string(out), "STORAGE LACKS")
	if unmade != "" && fmt.Sprint(lacks) != unmade {
		t.Errorf("%d cases cannot be set up here, want %s", lacks, unmade)
	}
	t.Logf("MEASURED vectors: %d passed, %d could not be set up", strings.Count(string(out), "--- PASS"), lacks)
}

// failures keeps of an output in the words of go test -v what failed.
func failures(out string) string {
	lines := strings.SplitAfter(out, "\n")
	kept := ""
	for i, line := range lines {
		if strings.Contains(line, "--- FAIL") {
			kept += strings.Join(lines[i:min(i+4, len(lines))], "")
		}
	}
	return kept + tail(out)
}
