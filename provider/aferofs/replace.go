package aferofs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/provider"
)

// Temporaries are named by a pattern that is reserved: never listed, and
// provider.ErrPath when addressed.
const (
	temporaryPrefix = ".aferofs-"
	temporarySuffix = ".tmp"
)

// isTemporary reports whether a name is reserved, in any case: storage may fold.
func isTemporary(elem string) bool {
	elem = strings.ToLower(elem)
	return len(elem) == len(temporaryPrefix)+32+len(temporarySuffix) && strings.HasPrefix(elem, temporaryPrefix) && strings.HasSuffix(elem, temporarySuffix)
}

// temporary returns a new name beside name.
func temporary(name provider.Path) (provider.Path, error) {
	var random [16]byte
	rand.Read(random[:])
	return name.Parent().Join(temporaryPrefix + hex.EncodeToString(random[:]) + temporarySuffix)
}

// Replace implements [provider.Provider]: it writes a temporary beside name,
// syncs it and renames it there. It is as atomic as the backend's Rename.
func (f *FS) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	if err := f.beginChange(ctx, name); err != nil {
		return provider.Digest{}, err
	}
	mode, err := f.mayReplace(name, opts)
	if err != nil {
		return provider.Digest{}, err
	}
	tmp, err := temporary(name)
	if err != nil {
		return provider.Digest{}, syscall.ENAMETOOLONG
	}
	digest, err := f.stage(ctx, tmp, mode, content, opts)
	if err != nil {
		return provider.Digest{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// Whatever was there when content began may have changed since.
	now, err := f.mayReplace(name, opts)
	if err == nil && now != nil {
		err = bare(f.base.Chmod(native(tmp), now.Mode().Perm()))
	}
	if err == nil {
		err = bare(f.base.Rename(native(tmp), native(name)))
	}
	if err != nil {
		f.base.Remove(native(tmp))
		return provider.Digest{}, err
	}
	return digest, nil
}

// mayReplace checks what is at name and the condition. It returns what is there
// now, or nil.
func (f *FS) mayReplace(name provider.Path, opts provider.ReplaceOptions) (fs.FileInfo, error) {
	info, err := f.look(name)
	want, match := opts.If.Match()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if match {
			return nil, fs.ErrNotExist
		}
		return nil, f.lookDir(name.Parent())
	case err != nil:
		return nil, err
	case opts.If.Absent():
		return nil, provider.ErrConflict
	case info.IsDir():
		return nil, syscall.EISDIR
	}
	if err := ordinary(info); err != nil {
		return nil, err
	}
	if match {
		got, err := f.digest(name)
		if err != nil {
			return nil, err
		}
		if got != want {
			return nil, provider.ErrConflict
		}
	}
	return info, nil
}

// digest reads the file at name, which look has found.
func (f *FS) digest(name provider.Path) (provider.Digest, error) {
	base, err := f.base.Open(native(name))
	if err != nil {
		return provider.Digest{}, bare(err)
	}
	defer base.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, base); err != nil {
		return provider.Digest{}, bare(err)
	}
	return provider.Digest(hash.Sum(nil)), nil
}

// stage writes content to the temporary. On an error the temporary is gone.
func (f *FS) stage(ctx context.Context, tmp provider.Path, existing fs.FileInfo, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	mode := opts.FileMode()
	if existing != nil {
		mode = 0o600 // until it has the old file's
	}
	base, err := f.base.OpenFile(native(tmp), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return provider.Digest{}, bare(err)
	}
	digest, err := copyContent(base, content)
	if err == nil {
		err = bare(base.Sync())
	}
	if cerr := base.Close(); err == nil {
		err = bare(cerr)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		f.base.Remove(native(tmp))
		return provider.Digest{}, err
	}
	return digest, nil
}

// copyContent copies content to base and hashes it. An error of content is
// returned as it is.
func copyContent(base afero.File, content io.Reader) (provider.Digest, error) {
	hash := sha256.New()
	buf := make([]byte, 64<<10)
	for {
		n, err := content.Read(buf)
		hash.Write(buf[:n])
		if _, werr := base.Write(buf[:n]); werr != nil && n > 0 {
			return provider.Digest{}, bare(werr)
		}
		if errors.Is(err, io.EOF) {
			return provider.Digest(hash.Sum(nil)), nil
		}
		if err != nil {
			return provider.Digest{}, err
		}
	}
}
