package diskfs

import (
	"context"
	"crypto/sha256"
	"io"
	"sync"

	"github.com/workspacefs/workspacefs/provider"
)

// copyBufs lends the buffers that content passes through.
var copyBufs = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// copyContent writes all of content to dst and returns its digest. An error of
// content is returned as it is.
func copyContent(ctx context.Context, dst io.WriterAt, content io.Reader) (provider.Digest, error) {
	buf := copyBufs.Get().(*[64 << 10]byte)
	defer copyBufs.Put(buf)
	hash := sha256.New()
	// A reader that returns nothing and no error, again and again, must not
	// hold this goroutine for ever.
	const maxEmptyReads = 100
	empty := 0
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return provider.Digest{}, err
		}
		n, err := content.Read(buf[:])
		if n > 0 {
			empty = 0
			hash.Write(buf[:n])
			if _, err := dst.WriteAt(buf[:n], off); err != nil {
				return provider.Digest{}, err
			}
			off += int64(n)
		} else if empty++; empty > maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
		switch err {
		case nil:
		case io.EOF:
			return provider.Digest(hash.Sum(nil)), ctx.Err()
		default:
			return provider.Digest{}, err
		}
	}
}

// digestOf hashes a whole file.
func digestOf(ctx context.Context, src io.ReaderAt) (provider.Digest, error) {
	buf := copyBufs.Get().(*[64 << 10]byte)
	defer copyBufs.Put(buf)
	hash := sha256.New()
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return provider.Digest{}, err
		}
		n, err := src.ReadAt(buf[:], off)
		hash.Write(buf[:n])
		off += int64(n)
		switch err {
		case nil:
		case io.EOF:
			return provider.Digest(hash.Sum(nil)), nil
		default:
			return provider.Digest{}, err
		}
	}
}
