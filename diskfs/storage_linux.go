package diskfs

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// storage says what kind of filesystem an object lies on.
type storage struct {
	dev    uint64
	kernel bool // proc, sysfs and their like: files that are interfaces
	exact  bool // st_size is the length of the content
}

// maxDevs bounds the cache of devices; a tree with more of them (btrfs has one
// per subvolume) asks again now and then.
const maxDevs = 64

// devCache remembers the kind of storage per device number.
type devCache struct {
	p atomic.Pointer[[]storage]
}

// of returns the kind of storage of fd, whose device is dev: one fstatfs for
// the first object of each device.
func (c *devCache) of(fd int, dev uint64) (storage, error) {
	known := c.p.Load()
	if known != nil {
		for i := range *known {
			if (*known)[i].dev == dev {
				return (*known)[i], nil
			}
		}
	}
	magic, _, err := statfs(fd)
	if err != nil {
		return storage{}, err
	}
	s := storage{dev: dev, kernel: isKernelFS(magic), exact: magic != unix.FUSE_SUPER_MAGIC}
	next := []storage{s}
	if known != nil && len(*known) < maxDevs {
		next = append(next, *known...)
	}
	c.p.CompareAndSwap(known, &next) // losing only costs another fstatfs
	return s, nil
}

// statfs describes fd's filesystem.
func statfs(fd int) (magic uint32, st unix.Statfs_t, err error) {
	for {
		if err = unix.Fstatfs(fd, &st); err != unix.EINTR {
			return uint32(st.Type), st, err
		}
	}
}

// isKernelFS reports whether files of this type are interfaces of the kernel
// that say they are regular: /proc/<pid>/mem is one.
func isKernelFS(magic uint32) bool {
	switch magic {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.BPF_FS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC,
		unix.SMACK_MAGIC, unix.AAFS_MAGIC, unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC, unix.BINFMTFS_MAGIC,
		unix.BINDERFS_SUPER_MAGIC, unix.RDTGROUP_SUPER_MAGIC, unix.NSFS_MAGIC, unix.PID_FS_MAGIC,
		unix.HUGETLBFS_MAGIC, unix.OPENPROM_SUPER_MAGIC,
		0x62656570, // configfs
		0x65735543, // fusectl
		0x19800202: // mqueue
		return true
	}
	return false
}

// traits are the properties of the root's filesystem that Features reports.
type traits struct {
	caseSensitive bool
	aliases       bool // may answer to short names that it does not list
	linkFree      bool
	chmod         bool
	atomicRename  bool
	durable       bool
	exact         bool
	maxFile       int64 // 0: the kernel sees to it
}

// traitsOf judges the filesystem of the root, without writing to it. What it
// cannot know it does not claim.
func traitsOf(root int, magic uint32, dev uint64, total int64) traits {
	t := traits{chmod: true, atomicRename: true, exact: true}
	fuse := magic == unix.FUSE_SUPER_MAGIC
	sensitive := false // when there is no entry to try
	switch magic {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.BCACHEFS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.REISERFS_SUPER_MAGIC, unix.NILFS_SUPER_MAGIC:
		sensitive, t.durable = true, true
	case unix.NFS_SUPER_MAGIC, 0x2fc12fc1: // NFS, ZFS: the server or dataset decides about case
		t.durable = true
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.SQUASHFS_MAGIC:
		sensitive = true
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC:
		t.linkFree, t.chmod = true, false
	case unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.SMB_SUPER_MAGIC:
		t.chmod = false
	}
	if fuse {
		// A file server of its own: renames and syncs are what it makes of
		// them. Those on a block device of their own are exFAT and NTFS, which
		// answer success to chmod and change nothing.
		t.atomicRename, t.exact = false, false
		if unix.Major(dev) != 0 {
			t.chmod = false
			// exfat-fuse ends, with everything mounted through it, when it
			// is asked for a size beyond what it can count.
			t.maxFile = total
		}
	}
	t.caseSensitive = probeCase(root, magic, sensitive)
	// NTFS has short names also where it is mounted case-sensitive.
	const ntfs3 = 0x7366746e
	t.aliases = !t.caseSensitive || fuse || magic == ntfs3
	return t
}

// fsCasefold is FS_CASEFOLD_FL of linux/fs.h: names in this directory fold.
const fsCasefold = 0x40000000

// probeCase reports whether names below root are case-sensitive, as far as can
// be seen without writing: by type, by the directory's flag, and by looking up
// entries in another case. unknown is the answer when there is no entry to try.
// A directory of another kind deeper in the tree goes unnoticed.
func probeCase(root int, magic uint32, unknown bool) bool {
	switch magic {
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.SMB_SUPER_MAGIC,
		0x482b, 0x4244: // HFS+, HFS
		return false
	}
	fd, e := openat(root, ".", unix.O_RDONLY|unix.O_DIRECTORY|openFlags, 0)
	if e != 0 {
		return unknown // a root that may not be read
	}
	defer closeFD(fd)
	var flags uint64 // the kernel writes an int, or a long on some systems
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.FS_IOC_GETFLAGS, uintptr(unsafe.Pointer(&flags))); e == 0 && uint32(flags|flags>>32)&fsCasefold != 0 {
		return false
	}
	// probeEntries is enough to meet a name with a letter, and bounds the cost.
	const probeEntries = 256
	names := make(map[string]bool)
	complete := false
	buf := make([]byte, 16<<10)
	for len(names) < probeEntries {
		n, e := getdents(fd, buf)
		if e != 0 {
			return unknown
		}
		if n == 0 {
			complete = true
			break
		}
		for name := range dirents(buf[:n]) {
			names[string(name)] = true
		}
	}
	for name := range names {
		flipped := flipCase(name)
		if flipped == name {
			continue
		}
		var st unix.Stat_t
		switch fstatat(root, flipped, &st) {
		case unix.ENOENT:
			return true
		case 0:
			if names[flipped] {
				continue // two files, or a listing in another case
			}
			if complete {
				return false
			}
			// The listing was cut: the other spelling may be an entry behind
			// the cut. Inodes tell, except where each spelling has its own.
			var own unix.Stat_t
			if fstatat(root, name, &own) != 0 || own.Ino == st.Ino || magic == unix.FUSE_SUPER_MAGIC {
				return false
			}
		}
	}
	return unknown
}
