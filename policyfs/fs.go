package policyfs

import (
	"context"
	"sync/atomic"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// The limits that Options puts in the place of 0.
const (
	// DefaultMaxFileBytes is Options.MaxFileBytes 0: 256 MiB, so that no single
	// call of an agent makes its host run out of memory.
	DefaultMaxFileBytes = 256 << 20
	// DefaultMaxWalk is Options.MaxWalk 0.
	DefaultMaxWalk = 100_000
)

// Options are the options of [New]. The zero value denies everything, because
// it has no policy.
type Options struct {
	// Policy judges every call; nil denies everything.
	Policy Policy
	// Dir is where relative names start; unset is the namespace's default. With
	// neither, relative names are refused.
	Dir namespace.Path
	// ResolveParents accepts ".." in names and resolves it physically: each
	// prefix before a ".." must be a directory that the policy lets the caller
	// stat. Without it a name with ".." is provider.ErrPath.
	ResolveParents bool
	// CreateParents lets creating a file or directory make its missing parents,
	// as users of afero.MemMapFs expect; the policy must permit each of them.
	// Without it a missing parent is fs.ErrNotExist.
	CreateParents bool
	// PortableNames refuses, on every platform, names that Windows cannot hold
	// (provider.PortableElem), to create or to reach.
	PortableNames bool
	// HostSeparators, on Windows only, reads '\' in names as '/', for programs
	// that use package filepath. It is ignored elsewhere.
	HostSeparators bool
	// MaxFileBytes is the size in bytes beyond which no write or truncate grows
	// a file, and no ReadFile or content condition reads one: syscall.EFBIG,
	// before anything is allocated. 0 is DefaultMaxFileBytes, -1 no limit.
	MaxFileBytes int64
	// MaxWalk is the number of entries that one walk, grep, rename of a
	// directory or recursive delete may visit. 0 is DefaultMaxWalk.
	MaxWalk int
	// Audit, if set, is called for every decision before any I/O, and once more
	// with Done set when the operation that was allowed has ended. It is called
	// on the goroutine of the operation and may be called concurrently.
	Audit func(context.Context, Event)
}

// Event is what Options.Audit is told.
type Event struct {
	Request
	Decision
	// Name is the caller's spelling, safe to log (namespace.Quote).
	Name string
	// Err is, in a decision, the error of the namespace source behind a
	// refusal; in an outcome, the error of the operation with everything that
	// the agent is not shown. Its text may name things of the host.
	Err error
	// Done marks the outcome of an operation that was allowed.
	Done bool
}

// FS is an afero.Fs over a namespace, judged by a policy. It is immutable and
// safe for concurrent use. The zero FS denies everything.
//
// The context that operations run under is part of the value ([FS.WithContext]),
// because the methods of afero.Fs have no parameter for it.
type FS struct {
	src   namespace.Source
	pol   Policy
	dir   namespace.Path
	ctx   context.Context
	opts  Options
	seeds *atomic.Pointer[seedSet] // shared with everything derived from one New
	// pure: every part of pol was compiled here, where what may be read may be
	// statted, so that one question answers both; and where to create, to write
	// and to remove are one question (writes).
	pure bool
}

var (
	_ afero.Fs      = (*FS)(nil)
	_ afero.Lstater = (*FS)(nil)
)

// New returns the filesystem of src under opts. A nil src denies everything.
func New(src namespace.Source, opts Options) *FS {
	return &FS{
		src:   src,
		pol:   opts.Policy,
		dir:   opts.Dir,
		ctx:   context.Background(),
		opts:  opts,
		pure:  allCompiled(opts.Policy),
		seeds: new(atomic.Pointer[seedSet]),
	}
}

// Name returns "policyfs".
func (f *FS) Name() string { return "policyfs" }

// WithContext returns f with operations running under ctx: once it is done they
// fail with its error, long ones within one file. Files opened through the result
// are bound to it too.
func (f *FS) WithContext(ctx context.Context) *FS {
	g := *f
	g.ctx = ctx
	return &g
}

// WithDir returns f with relative names starting at dir, which need not exist.
// It does not widen or narrow what the policy allows.
func (f *FS) WithDir(dir namespace.Path) *FS {
	g := *f
	g.dir = dir
	return &g
}

// WithPolicy returns f restricted further: what f's policy and p both allow.
func (f *FS) WithPolicy(p Policy) *FS {
	g := *f
	g.pol = Compose(f.pol, p)
	g.pure = allCompiled(g.pol)
	return &g
}

// maxFileBytes returns the limit of Options.MaxFileBytes, and whether there is one.
func (f *FS) maxFileBytes() (limit int64, ok bool) {
	switch {
	case f.opts.MaxFileBytes < 0:
		return 0, false
	case f.opts.MaxFileBytes == 0:
		return DefaultMaxFileBytes, true
	}
	return f.opts.MaxFileBytes, true
}

// maxWalk returns the limit of Options.MaxWalk.
func (f *FS) maxWalk() int {
	if f.opts.MaxWalk <= 0 {
		return DefaultMaxWalk
	}
	return f.opts.MaxWalk
}

// context returns the context of f's operations.
func (f *FS) context() context.Context {
	if f.ctx == nil {
		return context.Background()
	}
	return f.ctx
}

// view is one snapshot that one operation uses from its beginning to its end,
// and a File for its whole life.
type view struct {
	fs   *FS
	ns   *namespace.Namespace
	dir  namespace.Path
	pol  Policy
	seed *seedSet
}

// view takes the snapshot of an operation into v, which is the caller's and zero.
// A source that fails denies with its error as the Cause: never the old table, and
// never silently.
func (f *FS) view(v *view) error {
	if f.src == nil {
		return &DeniedError{Rule: "no namespace"}
	}
	ns, err := f.src.Namespace()
	if err != nil {
		return &DeniedError{Rule: "the namespace is unavailable", Cause: err}
	}
	if ns == nil {
		return &DeniedError{Rule: "the namespace is empty"}
	}
	v.fs, v.ns, v.pol = f, ns, f.pol
	if f.seeds != nil {
		v.seed = f.seeds.Load()
	}
	if v.dir = f.dir; v.dir.String() == "" {
		v.dir, _ = ns.Dir()
	}
	return nil
}

// current reports whether the table of the snapshot is still the source's:
// iterators stop when it is not.
func (v *view) current() bool {
	ns, err := v.fs.src.Namespace()
	return err == nil && ns == v.ns
}

// target is where one name of an operation leads.
type target struct {
	namespace.Target
	name string // the caller's spelling
	// mustDir: the spelling ends in a slash or "/.", so that the object has to
	// be a directory.
	mustDir bool
	// traverse: needs.instead was allowed, not what was asked for. Only
	// directories are visible then, and only as the way to what lies below.
	traverse bool
	// read: OpRead is known to be allowed for the object, which has no other path
	// than the named one.
	read bool
}

// renamed reports whether the object has another path than the one the caller
// named: the shorthand stood for it.
func (t *target) renamed() bool {
	named := t.Requested.String()
	return named != t.Path.String() && named != ""
}

// rel is the object's path in its provider.
func (t *target) rel() provider.Path { return t.Target.Rel }
