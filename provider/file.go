package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// ReadFile reads a whole file. It is a trusted helper: it applies no policy and
// no limit.
func ReadFile(ctx context.Context, p Provider, name Path) ([]byte, error) {
	return ReadFileMax(ctx, p, name, 0)
}

// ReadFileMax is [ReadFile] with a bound: more than limit bytes (limit > 0)
// is syscall.EFBIG. It uses [FileReader] where p has it, and gives the same result
// where it has not.
func ReadFileMax(ctx context.Context, p Provider, name Path, limit int64) ([]byte, error) {
	if r, ok := p.(FileReader); ok {
		return r.ReadFile(ctx, name, limit)
	}
	f, err := p.Open(ctx, name, OpenOptions{Read: true})
	if err == nil && f == nil {
		err = errNoAnswer
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return nil, errNoAnswer
	case info.IsDir():
		return nil, syscall.EISDIR
	}
	return readAll(f, info.Size(), limit)
}

// errNoAnswer is the error of a provider that breaks its contract.
var errNoAnswer = errors.New("the provider returned neither a result nor an error")

// readAll reads f to its end. size is only a hint: a file may grow, shrink, or
// (in some storages) say 0 and hold content.
func readAll(f io.ReaderAt, size, limit int64) ([]byte, error) {
	if limit > 0 && size > limit {
		return nil, syscall.EFBIG
	}
	const firstRead = 64 << 10 // what a lying size costs at first
	buf := make([]byte, min(max(size, 0), 1<<30)+1)
	if size <= 0 {
		buf = make([]byte, 512)
	}
	n := 0
	for {
		m, err := f.ReadAt(buf[n:], int64(n))
		n += m
		if limit > 0 && int64(n) > limit {
			return nil, syscall.EFBIG
		}
		if errors.Is(err, io.EOF) {
			return buf[:n:n], nil
		}
		if err == nil && m == 0 {
			err = io.ErrNoProgress // the file breaks the contract of ReadAt; asking again may go on for ever
		}
		if err != nil {
			return nil, err
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, max(firstRead, len(buf)))...)
		}
	}
}

// WriteFile makes data the content of name with [Provider.Replace]. A new file
// gets perm (0 is [DefaultPerm]). It is a trusted helper: it applies no policy.
func WriteFile(ctx context.Context, p Provider, name Path, data []byte, perm fs.FileMode) error {
	_, err := p.Replace(ctx, name, bytes.NewReader(data), ReplaceOptions{Perm: perm})
	return err
}
