package diskfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// For continuous integration: these tests need root with CAP_SYS_ADMIN, loop
// devices, and the packages xfsprogs, strace, exfat-fuse, exfatprogs, ntfs-3g.

// mount mounts and unmounts with the test.
func mount(t testing.TB, source, target, fstype string, flags uintptr, data string) {
	t.Helper()
	needRoot(t)
	if err := unix.Mount(source, target, fstype, flags, data); err != nil {
		lacking(t, fmt.Sprintf("the right to mount %s (%v)", fstype, err))
	}
	t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
}

// loopImage makes a filesystem in a sparse file and returns a directory where
// remount mounts it again.
type loopImage struct {
	image, dir string
}

func newLoop(t testing.TB, fstype string, mkfs ...string) loopImage {
	t.Helper()
	needRoot(t)
	needProgram(t, mkfs[0])
	base := openDirFor(t)
	l := loopImage{filepath.Join(base, "image"), filepath.Join(base, "mnt")}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(l.image)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	const imageSize = 320 << 20 // the least that mkfs.xfs takes
	if err := os.Truncate(l.image, imageSize); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs[0], append(mkfs[1:], l.image)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", mkfs, err, out)
	}
	l.mount(t)
	t.Cleanup(func() { l.unmount(t) })
	return l
}

func (l loopImage) mount(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "loop", l.image, l.dir).CombinedOutput(); err != nil {
		lacking(t, fmt.Sprintf("loop mounts (%v: %s)", err, out))
	}
}

func (l loopImage) unmount(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("umount", l.dir).CombinedOutput(); err != nil {
		t.Errorf("umount: %v: %s", err, out)
	}
}

// caseMounts sets up the two case-insensitive filesystems.
func caseMounts(t testing.TB) (exfat, ntfs string) {
	t.Helper()
	needRoot(t)
	script := filepath.Join(sharedDir(t), "case-mounts.sh")
	for _, p := range []string{"mkfs.exfat", "mount.exfat-fuse", "mkntfs", "lowntfs-3g", "losetup"} {
		needProgram(t, p)
	}
	dir := openDirFor(t)
	out, err := exec.Command("sh", script, dir).Output()
	exfat, ntfs = filepath.Join(dir, "exfat"), filepath.Join(dir, "ntfs")
	loop := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		exec.Command("umount", exfat, ntfs).Run()
		if loop != "" {
			exec.Command("losetup", "-d", loop).Run()
		}
	})
	if err != nil {
		lacking(t, fmt.Sprintf("the mounts of case-mounts.sh (%v)", err))
	}
	return exfat, ntfs
}

// giveExfat mounts exfat again with everything on it owned by nobody: exFAT has
// no owners, and the mount says who they are.
func giveExfat(t testing.TB, exfat string) {
	t.Helper()
	source, err := exec.Command("findmnt", "-n", "-o", "SOURCE", exfat).Output()
	if err != nil {
		t.Fatalf("findmnt: %v", err)
	}
	owner := fmt.Sprintf("uid=%d,gid=%d", nobody, nobody)
	for _, argv := range [][]string{{"umount", exfat}, {"mount.exfat-fuse", "-o", owner, strings.TrimSpace(string(source)), exfat}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
}

// openDirFor is t.TempDir where every user may pass.
func openDirFor(t testing.TB) string {
	t.Helper()
	dir := tempDirIn(t, "")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sharedDir finds the material that lies beside the repository.
func sharedDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("WORKSPACEFS_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		lacking(t, "the directory that WORKSPACEFS_SHARED names")
	}
	return dir
}

// TestCaseProbe: what Open says about case is true where it can be tested, and
// Open writes nothing to find out.
func TestCaseProbe(t *testing.T) {
	exfat, ntfs := caseMounts(t)
	for _, base := range []string{exfat, ntfs} {
		for _, layout := range [][]string{nil, {"12", "34"}, {"Name"}, {"name", "other"}} {
			dir, err := os.MkdirTemp(base, "1")
			if err != nil {
				t.Fatal(err)
			}
			lay(t, dir, "", layout...)
			before := names(t, dir)
			inModes(t, func(t *testing.T, m mode) {
				p := m.openDir(t, dir, diskfs.Options{})
				// Portable systems go by inode, which exFAT-FUSE has per spelling.
				if p.Features().CaseSensitive && m.name != "portable" {
					t.Errorf("%s with %v is said to be case-sensitive", filepath.Base(base), layout)
				}
			})
			if after := names(t, dir); len(after) != len(before) {
				t.Errorf("Open changed %v to %v", before, after)
			}
		}
	}
	for _, layout := range [][]string{{"name"}, {"name", "NAME"}, {"name", "NAME", "Other"}} {
		dir := t.TempDir()
		lay(t, dir, "", layout...)
		inModes(t, func(t *testing.T, m mode) {
			if !m.openDir(t, dir, diskfs.Options{}).Features().CaseSensitive {
				t.Errorf("%v is said to fold", layout)
			}
		})
	}
}

// TestReservedNamesFold: on storage that folds, no spelling reaches a temporary.
func TestReservedNamesFold(t *testing.T) {
	exfat, _ := caseMounts(t)
	temp := diskfs.TempName()
	lay(t, exfat, "", temp+": half")
	p := modes[0].openDir(t, exfat, diskfs.Options{})
	for _, name := range []string{temp, strings.ToUpper(temp), strings.Replace(temp, "u", "U", 1)} {
		if _, err := p.Stat(t.Context(), path(name)); !errors.Is(err, provider.ErrPath) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShortNames: NTFS answers to short names that it does not list; they are
// no names here, in no place of a path. One that only looks like it is.
func TestShortNames(t *testing.T) {
	needRoot(t)
	for _, program := range []string{"mkntfs", "ntfs-3g", "lowntfs-3g"} {
		needProgram(t, program)
	}
	base := t.TempDir()
	image, dir := base+"/image", base+"/mnt"
	lay(t, base, "", "image: ", "mnt/")
	mustDo(t, os.Truncate(image, 32<<20))
	run := func(argv ...string) {
		t.Helper()
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			lacking(t, fmt.Sprintf("the use of %s (%v: %s)", argv[0], err, out))
		}
	}
	run("mkntfs", "-q", "-F", image)
	run("ntfs-3g", image, dir)
	lay(t, dir, "", "longdirectory/", "longdirectory/longfilename.txt: secret", "true~1: x")
	for name, short := range map[string]string{"longdirectory": "LONGDI~1", "longdirectory/longfilename.txt": "LONGFI~1.TXT"} {
		if err := unix.Setxattr(dir+"/"+name, "system.ntfs_dos_name", []byte(short), 0); err != nil {
			run("umount", dir)
			t.Fatal(err)
		}
	}
	run("umount", dir)
	for _, driver := range [][]string{{"ntfs-3g"}, {"lowntfs-3g", "-o", "ignore_case"}} {
		t.Run(driver[0], func(t *testing.T) {
			run(append(driver, image, dir)...)
			defer run("umount", dir)
			if got := hostFile(t, dir, "LONGDI~1", "LONGFI~1.TXT"); got != "secret" {
				t.Fatalf("there are no aliases here: %q", got)
			}
			for _, m := range modes[:2] {
				p, err := m.open(dir, diskfs.Options{})
				mustDo(t, err)
				for _, op := range operations {
					if strings.HasPrefix(op.name, "rename") {
						continue // they need names that are not there
					}
					for _, name := range []string{"LONGDI~1", "LONGDI~1/longfilename.txt", "longdirectory/LONGFI~1.TXT", "LONGDI~1/LONGFI~1.TXT"} {
						if err := op.do(t.Context(), p, path(name)); !errors.Is(err, provider.ErrPath) {
							t.Errorf("%s: %s %s: %v", m.name, op.name, name, err)
						}
					}
				}
				f, err := p.Open(t.Context(), path("longdirectory"), provider.OpenOptions{Read: true})
				mustDo(t, err)
				if err := f.(provider.EntryRemover).RemoveEntry("LONGFI~1.TXT", false); !errors.Is(err, provider.ErrPath) {
					t.Errorf("RemoveEntry: %v", err)
				}
				if err := f.(provider.EntryReader).StatEntry("LONGFI~1.TXT", new(provider.Info)); !errors.Is(err, provider.ErrPath) {
					t.Errorf("StatEntry: %v", err)
				}
				mustDo(t, f.Close())
				for _, name := range []string{"true~1", "longdirectory/longfilename.txt"} {
					if _, err := provider.ReadFile(t.Context(), p, path(name)); err != nil {
						t.Errorf("%s: %s: %v", m.name, name, err)
					}
				}
				mustDo(t, provider.WriteFile(t.Context(), p, path("new~1"), nil, 0))
				mustDo(t, p.Remove(t.Context(), path("new~1")))
				mustDo(t, p.Close())
			}
		})
	}
}

// TestBindMounts: a directory bound from elsewhere is part of the tree, unless
// OneFileSystem says no; and a mount point stays where it is.
func TestBindMounts(t *testing.T) {
	base := t.TempDir()
	lay(t, base, "", "root/", "root/mnt/", "root/d/", "root/file: x", "out/", "out/sub/", "out/f: bound", "single: bound")
	mount(t, base+"/out", base+"/root/mnt", "", unix.MS_BIND, "")
	mount(t, base+"/single", base+"/root/file", "", unix.MS_BIND, "")
	inModes(t, func(t *testing.T, m mode) {
		ctx := t.Context()
		p := m.openDir(t, base+"/root", diskfs.Options{})
		if b, err := provider.ReadFile(ctx, p, path("mnt/f")); err != nil || string(b) != "bound" {
			t.Errorf("through the mount: %q, %v", b, err)
		}
		f, err := p.Open(ctx, path("mnt"), provider.OpenOptions{Read: true, Directory: true})
		if err != nil {
			t.Fatalf("listing the mount: %v", err)
		}
		if entries, err := f.ReadDir(0); err != nil || len(entries) != 2 {
			t.Errorf("listing the mount: %v, %v", entries, err)
		}
		f.Close()
		for _, name := range []string{"mnt", "file"} {
			if err := p.Remove(ctx, path(name)); err != syscall.EBUSY {
				t.Errorf("Remove(%s): %v", name, err)
			}
			if err := p.Rename(ctx, path(name), path("moved"), provider.RenameOptions{}); err != syscall.EBUSY {
				t.Errorf("Rename(%s): %v", name, err)
			}
			if err := p.Rename(ctx, path("d"), path(name), provider.RenameOptions{}); err == nil {
				t.Errorf("Rename over %s succeeded", name)
			}
		}
		if _, err := p.Replace(ctx, path("file"), strings.NewReader("new"), provider.ReplaceOptions{}); err != syscall.EBUSY {
			t.Errorf("Replace of a mount point: %v", err)
		}
		if err := p.Rename(ctx, path("mnt/f"), path("f"), provider.RenameOptions{}); err != syscall.EXDEV {
			t.Errorf("Rename across: %v", err)
		}
		// Portable systems see only devices, and this is the same one.
		if m.name == "portable" {
			return
		}
		one := m.openDir(t, base+"/root", diskfs.Options{OneFileSystem: true})
		for _, op := range operations {
			for _, name := range []string{"mnt/f", "mnt/sub", "mnt/new"} {
				if err := op.do(ctx, one, path(name)); err != syscall.EXDEV {
					t.Errorf("OneFileSystem: %s %s: %v", op.name, name, err)
				}
			}
			if strings.HasPrefix(op.name, "open-") && op.name != "open-exclusive" || op.name == "stat" || strings.HasPrefix(op.name, "read-") {
				if err := op.do(ctx, one, path("mnt")); err != syscall.EXDEV && err != syscall.EISDIR {
					t.Errorf("OneFileSystem: %s of the mount point: %v", op.name, err)
				}
			}
		}
		if _, err := one.Stat(ctx, path("d")); err != nil {
			t.Errorf("OneFileSystem refuses its own: %v", err)
		}
	})
}

// TestOneFileSystemByDevice is OneFileSystem where the kernel does not tell
// mounts apart.
func TestOneFileSystemByDevice(t *testing.T) {
	base := t.TempDir()
	lay(t, base, "", "root/", "root/mnt/", "root/f: x")
	mount(t, "none", base+"/root/mnt", "tmpfs", 0, "size=1m")
	lay(t, base+"/root/mnt", "", "f: x")
	inModes(t, func(t *testing.T, m mode) {
		p := m.openDir(t, base+"/root", diskfs.Options{OneFileSystem: true})
		if _, err := provider.ReadFile(t.Context(), p, path("mnt/f")); err != syscall.EXDEV {
			t.Errorf("through the mount: %v", err)
		}
		if _, err := provider.ReadFile(t.Context(), p, path("f")); err != nil {
			t.Error(err)
		}
	})
}

// TestKernelFilesystems: files of proc and sysfs say that they are regular.
func TestKernelFilesystems(t *testing.T) {
	for _, dir := range []string{"/proc", "/proc/self", "/sys"} {
		if _, err := diskfs.Open(dir, diskfs.Options{}); !errors.Is(err, provider.ErrIrregular) {
			t.Errorf("Open(%s): %v", dir, err)
		}
	}
	for _, m := range modes[:2] {
		p := m.openDir(t, "/", diskfs.Options{})
		for _, name := range []string{"proc/version", "proc/1/mem", "proc/1/environ", "sys/kernel/mm", "proc"} {
			opts := provider.OpenOptions{Read: true}
			if f, err := p.Open(t.Context(), path(name), opts); !errors.Is(err, provider.ErrIrregular) && !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: Open(%s): %v %v", m.name, name, f, err)
			}
			opts.Directory = true
			if f, err := p.Open(t.Context(), path(name), opts); !errors.Is(err, provider.ErrIrregular) && err != syscall.ENOTDIR {
				t.Errorf("%s: Open(%s, Directory): %v %v", m.name, name, f, err)
			}
		}
		if _, err := provider.ReadFile(t.Context(), unwrapped(p), path("proc/version")); !errors.Is(err, provider.ErrIrregular) {
			t.Errorf("%s: ReadFile: %v", m.name, err)
		}
		if _, err := readInto(t.Context(), p, path("proc/version")); !errors.Is(err, provider.ErrIrregular) {
			t.Errorf("%s: ReadFileInto: %v", m.name, err)
		}
		if _, err := p.Stat(t.Context(), path("proc/version")); err != nil {
			t.Errorf("%s: Stat: %v", m.name, err)
		}
		for _, name := range []string{"proc/self/exe", "proc/self/root/etc/passwd", "proc/self/cwd"} {
			if _, err := provider.ReadFile(t.Context(), p, path(name)); !errors.Is(err, provider.ErrSymlink) {
				t.Errorf("%s: magic link %s: %v", m.name, name, err)
			}
		}
	}
}

// TestReadOnlyMount: storage that is mounted read-only is a read-only provider.
func TestReadOnlyMount(t *testing.T) {
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", 0, "size=1m")
	lay(t, dir, "", "f: content")
	inModes(t, func(t *testing.T, m mode) {
		before := m.openDir(t, dir, diskfs.Options{})
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		defer unix.Mount("", dir, "", unix.MS_REMOUNT, "")
		p := m.openDir(t, dir, diskfs.Options{})
		if m.name != "portable" && p.Features().Write {
			t.Error("Features.Write on a read-only mount")
		}
		for _, p := range []opened{before, p} {
			if _, err := p.Replace(t.Context(), path("f"), strings.NewReader("new"), provider.ReplaceOptions{}); err != syscall.EROFS {
				t.Errorf("Replace: %v", err)
			}
			if err := p.Mkdir(t.Context(), path("d"), 0o755); err != syscall.EROFS {
				t.Errorf("Mkdir: %v", err)
			}
		}
		if got := hostFile(t, dir, "f"); got != "content" {
			t.Errorf("content %q", got)
		}
	})
}
