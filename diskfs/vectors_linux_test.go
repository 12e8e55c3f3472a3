package diskfs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVectorsOnTheWalk runs the shared attack and bug vectors, which package
// policyfs reads, on disks whose provider has to walk: a filter that a child
// sets goes to the processes that it starts, and openat2 is not there for them.
func TestVectorsOnTheWalk(t *testing.T) {
	whereAllIsRequired(t)
	child{restrictions: []string{"deny=openat2:ENOSYS"}, run: "^TestPolicyfsVectors$", env: vectorEnv(t)}.mustPass(t)
}

// TestVectorsAsNobody runs them as an unprivileged user.
func TestVectorsAsNobody(t *testing.T) {
	whereAllIsRequired(t)
	needRoot(t)
	child{uid: 65534, run: "^TestPolicyfsVectors$", env: vectorEnv(t)}.mustPass(t)
}

// vectorEnv builds the test binary of package policyfs and tells a child where
// it is.
func vectorEnv(t *testing.T) []string {
	t.Helper()
	needProgram(t, "go")
	dir := tempDirIn(t, "")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "policyfs.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, "../policyfs").CombinedOutput(); err != nil {
		t.Fatalf("building the tests of policyfs: %v\n%s", err, out)
	}
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS(filepath.Join("..", "policyfs", "testdata"))); err != nil {
		t.Fatal(err)
	}
	return []string{"DISKFS_TEST_POLICYFS=" + binary}
}

// TestPolicyfsVectors is the child: it only starts the other tests.
func TestPolicyfsVectors(t *testing.T) {
	binary := os.Getenv("DISKFS_TEST_POLICYFS")
	if binary == "" {
		t.Skip("runs in a child process")
	}
	args := []string{"-test.v", "-test.run=^(TestAttackVectors|TestFSBugVectors)$"}
	if os.Geteuid() != 0 {
		// A permission of the host that root, for whom policyfs pins the
		// answer, has anyway.
		args = append(args, "-test.skip=^TestFSBugVectors$/^AF-M55$/^disk$")
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = filepath.Dir(binary) // beside its testdata
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Test") < 2 {
		t.Fatalf("%v\n%s", err, tail(string(out)))
	}
}
