package policyfs

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// ReadFile returns the whole content of a file and its digest, which WriteFile
// takes as the condition provider.IfMatch. It asks for OpRead. A file larger than
// Options.MaxFileBytes is syscall.EFBIG, before its content is allocated. The
// slice belongs to the caller.
func (f *FS) ReadFile(name string) ([]byte, provider.Digest, error) {
	data, err := f.readFile(name)
	if err != nil {
		return nil, provider.Digest{}, pathErr("open", name, err)
	}
	return data, sha256.Sum256(data), nil
}

// readFile is ReadFile without the digest.
func (f *FS) readFile(name string) ([]byte, error) {
	var v view
	if err := f.view(&v); err != nil {
		return nil, f.refuseAll(OpRead, name, err)
	}
	var t target
	if err := f.resolve(&v, &t, name, &needs{ops: [3]Op{OpRead}}); err != nil {
		return nil, err
	}
	data, err := v.readTarget(&t)
	v.done(OpRead, &t, err)
	return data, err
}

func (v *view) readTarget(t *target) ([]byte, error) {
	if err := v.requireDir(t); err != nil {
		return nil, v.unseen(t, err)
	}
	limit, _ := v.fs.maxFileBytes()
	data, err := provider.ReadFileMax(v.fs.context(), t.Provider, t.rel(), limit)
	if err != nil && v.isOverlay(t) {
		return nil, syscall.EISDIR
	}
	return data, v.unseen(t, err)
}

// WriteFile makes data the whole content of name: readers, and a crash, see the
// old content or the new. It asks for OpCreate with provider.IfAbsent, for OpRead
// and OpWrite with provider.IfMatch, else for OpCreate and OpWrite. A condition
// that does not hold is provider.ErrConflict, and nothing is changed. More than
// Options.MaxFileBytes, to write or to compare, is syscall.EFBIG. It returns the
// digest of data.
func (f *FS) WriteFile(name string, data []byte, opts provider.ReplaceOptions) (provider.Digest, error) {
	digest, err := f.writeFile(name, data, opts)
	if err != nil {
		return provider.Digest{}, pathErr("write", name, err)
	}
	return digest, nil
}

func (f *FS) writeFile(name string, data []byte, opts provider.ReplaceOptions) (provider.Digest, error) {
	var v view
	if err := f.view(&v); err != nil {
		return provider.Digest{}, f.refuseAll(OpWrite, name, err)
	}
	n := needs{ops: [3]Op{OpCreate, OpWrite}, mount: syscall.EISDIR, blank: true}
	_, match := opts.If.Match()
	switch {
	case opts.If.Absent():
		n.ops = [3]Op{OpCreate}
		n.mount = syscall.EEXIST
	case match:
		n.ops = [3]Op{OpRead, OpWrite}
	}
	var t target
	if err := f.resolve(&v, &t, name, &n); err != nil {
		return provider.Digest{}, err
	}
	digest, err := v.writeTarget(&t, data, opts)
	v.done(OpWrite, &t, err)
	return digest, err
}

func (v *view) writeTarget(t *target, data []byte, opts provider.ReplaceOptions) (provider.Digest, error) {
	if t.mustDir {
		if err := v.requireDir(t); err != nil && !isNotExist(err) {
			return provider.Digest{}, err
		}
		return provider.Digest{}, syscall.EISDIR
	}
	limit, limited := v.fs.maxFileBytes()
	if limited && int64(len(data)) > limit {
		return provider.Digest{}, syscall.EFBIG
	}
	_, match := opts.If.Match()
	if match && limited {
		// The provider has to read the file to compare it.
		info, err := described(t.Provider.Stat(v.fs.context(), t.rel()))
		switch {
		case err != nil && !isNotExist(err): // of an unknown size, so not read; what is missing Replace says
			return provider.Digest{}, err
		case err == nil && info.Mode().IsRegular() && info.Size() > limit:
			return provider.Digest{}, syscall.EFBIG
		}
	}
	opts.Perm &= fs.ModePerm
	lock, err := v.lockShared(t)
	if err != nil {
		return provider.Digest{}, err
	}
	defer lock.unlock()
	digest, err := v.replace(t, data, opts)
	if v.fs.opts.CreateParents && isNotExist(err) && !match {
		if err := v.makeParents(t, 0o777); err != nil {
			return provider.Digest{}, err
		}
		digest, err = v.replace(t, data, opts)
	}
	return digest, err
}

func (v *view) replace(t *target, data []byte, opts provider.ReplaceOptions) (provider.Digest, error) {
	return t.Provider.Replace(v.fs.context(), t.rel(), bytes.NewReader(data), opts)
}
