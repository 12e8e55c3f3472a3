package memfs

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// model is the contract in the plainest form: a tree of maps and byte slices,
// copied as a whole, with limits counted over all of it.
type model struct {
	opts  Options
	root  *object
	gone  []*object // removed and still open
	clock func() int64
}

type object struct {
	mode     fs.FileMode
	mtime    int64
	data     []byte
	lens     map[int64]int64 // chunk -> bytes that are there
	kids     map[string]*kid // by folded name
	handles  int
	detached bool
}

type kid struct {
	name string
	obj  *object
}

func newModel(opts Options, clock func() int64) *model {
	return &model{opts: opts, clock: clock, root: &object{mode: fs.ModeDir | 0o755, kids: map[string]*kid{}, mtime: clock()}}
}

func (m *model) fold(s string) string {
	if m.opts.CaseInsensitive {
		return strings.ToLower(s)
	}
	return s
}

// clone copies everything; handles stay.
func (m *model) clone() *model {
	var dup func(o *object) *object
	dup = func(o *object) *object {
		c := *o
		c.handles = 0
		c.data, c.lens = slices.Clone(o.data), maps.Clone(o.lens)
		if o.kids != nil {
			c.kids = map[string]*kid{}
			for key, k := range o.kids {
				c.kids[key] = &kid{k.name, dup(k.obj)}
			}
		}
		return &c
	}
	return &model{opts: m.opts, clock: m.clock, root: dup(m.root)}
}

// usage counts all objects there are.
func (m *model) usage() (u Usage) {
	var walk func(o *object)
	walk = func(o *object) {
		u.Files++
		u.Bytes += o.charge()
		for _, k := range o.kids {
			walk(k.obj)
		}
	}
	walk(m.root)
	u.Files--
	for _, o := range m.gone {
		u.Files++
		u.Bytes += o.charge()
	}
	return u
}

func (o *object) charge() int64 {
	var bytes int64
	for _, n := range o.lens {
		bytes += n
	}
	return max(bytes, int64(len(o.lens)-1)*64, 0)
}

// at returns the directory that name is in and what is there.
func (m *model) at(name provider.Path) (d *object, key string, o *object, err error) {
	o = m.root
	for elem := range name.Elems() {
		switch {
		case o == nil:
			return nil, "", nil, syscall.ENOENT
		case o.mode.Type() == fs.ModeSymlink:
			return nil, "", nil, provider.ErrSymlink
		case o.kids == nil:
			return nil, "", nil, syscall.ENOTDIR
		}
		d, key = o, m.fold(elem)
		o = nil
		if k := d.kids[key]; k != nil {
			o = k.obj
		}
	}
	return d, key, o, nil
}

func (m *model) stat(name provider.Path) (*object, error) {
	_, _, o, err := m.at(name)
	if err == nil && o == nil {
		err = syscall.ENOENT
	}
	return o, err
}

func (m *model) create(name provider.Path, made *object) error {
	d, key, o, err := m.at(name)
	switch {
	case err != nil:
		return err
	case o != nil:
		return syscall.EEXIST
	case m.opts.MaxDepth > 0 && len(slices.Collect(name.Elems())) > m.opts.MaxDepth,
		m.opts.MaxFiles > 0 && m.usage().Files >= int64(m.opts.MaxFiles):
		return provider.ErrQuota
	}
	made.mtime = m.clock()
	d.mtime = made.mtime
	d.kids[key] = &kid{name.Base(), made}
	return nil
}

func (m *model) mkdir(name provider.Path, perm fs.FileMode) error {
	return m.create(name, &object{mode: fs.ModeDir | perm&0o777, kids: map[string]*kid{}})
}

func (m *model) symlink(target string, name provider.Path) error {
	return m.create(name, &object{mode: fs.ModeSymlink | 0o777})
}

func (m *model) open(name provider.Path, opts provider.OpenOptions) (*object, error) {
	if !opts.Read && !opts.Write || opts.Directory && (opts.Mutates() || !opts.Read) {
		return nil, syscall.EINVAL
	}
	_, _, o, err := m.at(name)
	switch {
	case err != nil:
		return nil, err
	case o == nil && !opts.Create:
		return nil, syscall.ENOENT
	case o == nil:
		perm := opts.Perm & 0o777
		if opts.Perm == 0 {
			perm = 0o644
		}
		o = &object{mode: perm, lens: map[int64]int64{}}
		if err := m.create(name, o); err != nil {
			return nil, err
		}
	case opts.Create && opts.Exclusive:
		return nil, syscall.EEXIST
	case o.mode.Type() == fs.ModeSymlink:
		return nil, provider.ErrSymlink
	case o.kids != nil && opts.Mutates():
		return nil, syscall.EISDIR
	case o.kids == nil && opts.Directory:
		return nil, syscall.ENOTDIR
	case opts.Truncate:
		if err := m.truncate(o, 0); err != nil {
			return nil, err
		}
	}
	o.handles++
	return o, nil
}

func (m *model) close(o *object) {
	o.handles--
	if o.handles == 0 && o.detached {
		m.gone = slices.DeleteFunc(m.gone, func(g *object) bool { return g == o })
	}
}

func (m *model) detach(o *object) {
	o.detached = true
	if o.handles > 0 {
		m.gone = append(m.gone, o)
	}
}

func (m *model) remove(name provider.Path) error {
	d, key, o, err := m.at(name)
	switch {
	case err != nil:
		return err
	case d == nil:
		return syscall.EBUSY
	case o == nil:
		return syscall.ENOENT
	}
	return m.take(d, key, o)
}

func (m *model) take(d *object, key string, o *object) error {
	if len(o.kids) > 0 {
		return syscall.ENOTEMPTY
	}
	delete(d.kids, key)
	d.mtime = m.clock()
	m.detach(o)
	return nil
}

func (m *model) removeEntry(d *object, elem string, dir bool) error {
	key := m.fold(elem)
	k := d.kids[key]
	switch {
	case k == nil:
		return syscall.ENOENT
	case dir && k.obj.kids == nil:
		return syscall.ENOTDIR
	case !dir && k.obj.kids != nil:
		return syscall.EISDIR
	}
	return m.take(d, key, k.obj)
}

func height(o *object) int {
	h := 0
	for _, k := range o.kids {
		h = max(h, 1+height(k.obj))
	}
	return h
}

func holds(top, o *object) bool {
	if top == o {
		return true
	}
	for _, k := range top.kids {
		if holds(k.obj, o) {
			return true
		}
	}
	return false
}

func (m *model) rename(oldname, newname provider.Path, opts provider.RenameOptions) error {
	if oldname.IsRoot() || newname.IsRoot() {
		return syscall.EBUSY
	}
	from, oldKey, o, err := m.at(oldname)
	if err != nil {
		return err
	}
	to, newKey, target, err := m.at(newname)
	switch {
	case err != nil:
		return err
	case o == nil:
		return syscall.ENOENT
	case o.kids != nil && opts.NotDir:
		return syscall.EISDIR
	case opts.NoReplace && target != nil:
		return syscall.EEXIST
	case o == target && oldname.Base() == newname.Base():
		return nil
	case o != target && target != nil && target.kids != nil:
		return syscall.EEXIST
	case o.kids != nil && holds(o, to):
		return syscall.EINVAL
	case o != target && target != nil && o.kids != nil:
		return syscall.ENOTDIR
	}
	depth := len(slices.Collect(newname.Elems()))
	if m.opts.MaxDepth > 0 && depth+height(o) > m.opts.MaxDepth {
		return provider.ErrQuota
	}
	delete(from.kids, oldKey)
	if target != nil && target != o {
		m.detach(target)
	}
	to.kids[newKey] = &kid{newname.Base(), o}
	now := m.clock()
	from.mtime, to.mtime = now, now
	return nil
}

func (m *model) replace(name provider.Path, data []byte, opts provider.ReplaceOptions) (provider.Digest, error) {
	if m.opts.MaxFileBytes > 0 && int64(len(data)) > m.opts.MaxFileBytes || m.opts.MaxBytes > 0 && int64(len(data)) > m.opts.MaxBytes {
		return provider.Digest{}, provider.ErrQuota
	}
	d, key, o, err := m.at(name)
	if err != nil {
		return provider.Digest{}, err
	}
	want, match := opts.If.Match()
	switch {
	case o != nil && opts.If.Absent():
		return provider.Digest{}, provider.ErrConflict
	case o != nil && o.kids != nil:
		return provider.Digest{}, syscall.EISDIR
	case o != nil && o.mode.Type() != 0:
		return provider.Digest{}, provider.ErrSymlink
	case match && o == nil:
		return provider.Digest{}, syscall.ENOENT
	case match && sha256.Sum256(o.data) != want:
		return provider.Digest{}, provider.ErrConflict
	}
	made := &object{mode: opts.Perm & 0o777, lens: map[int64]int64{}, data: slices.Clone(data)}
	if opts.Perm == 0 {
		made.mode = 0o644
	}
	for i := int64(0); i*chunkSize < int64(len(data)); i++ {
		made.lens[i] = min(chunkSize, int64(len(data))-i*chunkSize)
	}
	u := m.usage()
	if o != nil && o.handles == 0 {
		u.Bytes -= o.charge()
		u.Files--
	}
	if m.opts.MaxFiles > 0 && u.Files+1 > int64(m.opts.MaxFiles) || m.opts.MaxBytes > 0 && u.Bytes+made.charge() > m.opts.MaxBytes ||
		m.opts.MaxDepth > 0 && len(slices.Collect(name.Elems())) > m.opts.MaxDepth {
		return provider.Digest{}, provider.ErrQuota
	}
	if o != nil {
		made.mode = o.mode
		m.detach(o)
		d.kids[key].obj = made
	} else {
		d.kids[key] = &kid{name.Base(), made}
	}
	made.mtime = m.clock()
	d.mtime = made.mtime
	return sha256.Sum256(data), nil
}

func (m *model) write(o *object, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	end := off + int64(len(p))
	if m.opts.MaxFileBytes > 0 && end > m.opts.MaxFileBytes {
		return provider.ErrQuota
	}
	lens := maps.Clone(o.lens)
	for i := off / chunkSize; i*chunkSize < end; i++ {
		lens[i] = max(lens[i], min(chunkSize, end-i*chunkSize))
	}
	before := m.usage().Bytes - o.charge()
	was := o.lens
	charged := o.charge()
	o.lens = lens
	if now := o.charge(); m.opts.MaxBytes > 0 && now > charged && before+now > m.opts.MaxBytes {
		o.lens = was
		return provider.ErrQuota
	}
	if end > int64(len(o.data)) {
		o.data = append(o.data, make([]byte, end-int64(len(o.data)))...)
	}
	copy(o.data[off:], p)
	o.mtime = m.clock()
	return nil
}

func (m *model) truncate(o *object, size int64) error {
	switch {
	case size < 0:
		return syscall.EINVAL
	case m.opts.MaxFileBytes > 0 && size > m.opts.MaxFileBytes && size > int64(len(o.data)):
		return provider.ErrQuota
	}
	for i, n := range o.lens {
		if n = min(n, size-i*chunkSize); n > 0 {
			o.lens[i] = n
		} else {
			delete(o.lens, i)
		}
	}
	if size > int64(len(o.data)) {
		o.data = append(o.data, make([]byte, size-int64(len(o.data)))...)
	}
	o.data = slices.Clip(o.data[:size])
	o.mtime = m.clock()
	return nil
}

func (m *model) readAt(o *object, n int, off int64) ([]byte, error) {
	switch size := int64(len(o.data)); {
	case off < 0:
		return nil, syscall.EINVAL
	case n == 0:
		return nil, nil
	case off >= size:
		return nil, io.EOF
	case int64(n) > size-off:
		return o.data[off:], io.EOF
	}
	return o.data[off : off+int64(n)], nil
}

const errNotDir = syscall.ENOTDIR

func digestOf(data []byte) provider.Digest { return sha256.Sum256(data) }

const (
	errIsDir    = syscall.EISDIR
	errNotExist = syscall.ENOENT
)
