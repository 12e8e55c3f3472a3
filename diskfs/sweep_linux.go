package diskfs

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A temporary is stale when its writer is gone: a regular file with one link,
// of our own user, whose lock is free. Only then may it be removed.

// sweepStale removes the temporary elem of dir if it is stale.
func sweepStale(dir int, elem string) bool {
	fd, e := openat(dir, elem, unix.O_RDONLY|unix.O_NOFOLLOW|openFlags, 0)
	if e != 0 {
		return e == unix.ENOENT
	}
	defer closeFD(fd)
	var held, named unix.Stat_t
	if fstat(fd, &held) != 0 || held.Mode&unix.S_IFMT != unix.S_IFREG || held.Nlink != 1 || int(held.Uid) != unix.Geteuid() {
		return false
	}
	if flock(fd, unix.LOCK_EX|unix.LOCK_NB) != 0 {
		return false
	}
	// With the lock held its writer cannot begin; the name must still be this
	// file's.
	if fstatat(dir, elem, &named) != 0 || named.Dev != held.Dev || named.Ino != held.Ino {
		return false
	}
	return unlinkat(dir, elem, 0) == 0
}

// sweepAll removes the temporaries of the directory elem of dir if it holds
// nothing else and all of them are stale. It reports whether it removed any.
func (t *tree) sweepAll(dir int, elem string) bool {
	fd, e := openat(dir, elem, pathDir|unix.O_NOFOLLOW, 0)
	if e != 0 {
		return false
	}
	defer closeFD(fd)
	var temps []string
	only := true
	e = eachName(fd, func(name []byte) bool {
		only = len(name) >= tempLen && t.reserved(string(name))
		if only {
			temps = append(temps, string(name))
		}
		return only
	})
	if e != 0 || !only {
		return false
	}
	for _, name := range temps {
		if !sweepStale(fd, name) {
			return false
		}
	}
	return len(temps) > 0
}

const (
	// sweepAlways is the size up to which a directory is searched for stale
	// temporaries after each Replace in it.
	sweepAlways = 1024
	// sweepPause is how long a larger one is left alone.
	sweepPause = time.Minute
	// sweepDirs bounds what is remembered about larger ones.
	sweepDirs = 256
)

// sweepLog remembers when large directories were searched last.
type sweepLog struct {
	mu   sync.Mutex // guards dirs
	dirs map[[2]uint64]time.Time
}

// due reports whether the directory should be searched now.
func (l *sweepLog) due(id [2]uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, large := l.dirs[id]
	return !large || time.Since(last) >= sweepPause
}

// note remembers the size that a search found.
func (l *sweepLog) note(id [2]uint64, entries int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entries <= sweepAlways {
		delete(l.dirs, id)
		return
	}
	if l.dirs == nil || len(l.dirs) >= sweepDirs {
		l.dirs = make(map[[2]uint64]time.Time) // forgetting costs a search
	}
	l.dirs[id] = time.Now()
}

// sweep removes stale temporaries from a directory in which something was
// replaced. It is housekeeping: nothing depends on its success.
func (d *FS) sweep(dir int) {
	var st unix.Stat_t
	if fstat(dir, &st) != 0 {
		return
	}
	id := [2]uint64{uint64(st.Dev), st.Ino}
	if !d.swept.due(id) {
		return
	}
	entries := 0
	var temps []string
	buf := direntBufs.Get().(*[direntBuf]byte)
	defer direntBufs.Put(buf)
	for {
		n, e := getdents(dir, buf[:])
		if e != 0 || n == 0 {
			break
		}
		for name := range dirents(buf[:n]) {
			entries++
			if len(name) >= tempLen && d.reserved(string(name)) {
				temps = append(temps, string(name))
			}
		}
	}
	for _, name := range temps {
		sweepStale(dir, name)
	}
	d.swept.note(id, entries)
}
