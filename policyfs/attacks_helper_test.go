package policyfs_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// attackCase is one case of testdata/attacks.json.
type attackCase struct {
	Name, Class, Provider, Platform string
	Setup, Call, Must               [][]any
	Level, Note                     string
}

func loadAttacks(t testing.TB) []attackCase {
	t.Helper()
	data, err := os.ReadFile("testdata/attacks.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []attackCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// flavor says through which methods a case writes and reads: those of afero, or
// the ones that this package adds.
type flavor string

const (
	flavorAfero flavor = "afero"
	flavorOwn   flavor = "own"
)

// attackRun is one case on one storage.
type attackRun struct {
	*box
	c      attackCase
	flavor flavor

	spec      policyfs.Spec
	custom    policyfs.Policy // instead of spec
	hasPolicy bool
	opts      policyfs.Options
	mounts    []namespace.Mount
	grants    []namespace.Grant
	cwd       string
	sub       string
	seeds     []policyfs.SeedFile
	sessions  map[string]string
	ns        *namespace.Namespace
	face      *policyfs.FS
	fs        afero.Fs // face, or what a client wraps around it
	sessionFS map[string]*policyfs.FS
	handles   map[string]afero.File
	results   []attackResult
	before    map[string]string // snapshots of host trees
	mu        sync.Mutex
	events    []policyfs.Event
	wrapper   func(provider.Provider) provider.Provider
}

// attackResult is what one call did.
type attackResult struct {
	err    error
	names  []string // a listing
	text   string   // all other output
	count  int
	flag   bool
	args   []string
	panics any
	took   time.Duration
}

// fullSpec allows everything: what a case without a policy runs under.
func fullSpec() policyfs.Spec {
	return policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowHidden: []string{"/"},
		AllowSensitive: []string{"/"}, AllowRecursiveDelete: true,
	}
}

// readWriteSpec is ReadWrite in words, so that cases can add to it.
func readWriteSpec() policyfs.Spec {
	return policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"}, DenyWrite: []string{".agents"}, AllowHidden: []string{".agents"},
		DenyWriteComponent: []string{"node_modules", "target", "dist", "build", ".next", ".venv", "venv", ".tox", ".gradle"},
	}
}

func readOnlySpec() policyfs.Spec {
	return policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{".agents"}}
}

func str(v any) string { s, _ := v.(string); return s }

// rule adds one ["policy", verb, scope] to the policy of the run.
func (r *attackRun) rule(args []any) {
	verb := str(args[0])
	scope := ""
	if len(args) > 1 {
		scope = str(args[1])
	}
	if verb == "recursive_delete" {
		if !r.hasPolicy {
			r.spec = fullSpec()
		}
		r.spec.AllowRecursiveDelete, r.hasPolicy = true, true
		return
	}
	recursive := r.hasPolicy && r.spec.AllowRecursiveDelete
	switch verb {
	case "read_write", "read_only", "default":
		r.spec = readWriteSpec()
		if verb != "read_write" {
			r.spec = readOnlySpec()
		}
		r.spec.AllowRecursiveDelete = recursive
		r.custom = nil
	case "builder-empty":
		r.spec, r.custom = policyfs.Spec{}, nil
	case "builder allow_read /":
		r.spec, r.custom = policyfs.Spec{AllowRead: []string{"/"}}, nil
	case "from-config-empty":
		s, err := policyfs.ParseSpec(strings.NewReader(`{"allow_read": [], "allow_write": []}`))
		r.must(err)
		r.spec = s
		for _, blank := range []string{`{"allow_read": [" "]}`, `{"allow_read": [""]}`} {
			s, err := policyfs.ParseSpec(strings.NewReader(blank))
			if err == nil {
				_, err = policyfs.Compile(s)
			}
			if err == nil {
				r.t.Errorf("%s compiles", blank)
			}
		}
	case "custom-panics":
		r.custom = panicPolicy{}
	case "live":
		r.spec = readOnlySpec()
	case "allow_read":
		r.spec.AllowRead = append(r.spec.AllowRead, scope)
	case "allow_write":
		r.spec.AllowWrite = append(r.spec.AllowWrite, scope)
	case "allow_hidden":
		r.spec.AllowHidden = append(r.spec.AllowHidden, scope)
	case "allow_sensitive":
		r.spec.AllowSensitive = append(r.spec.AllowSensitive, scope)
	case "deny_write":
		r.spec.DenyWrite = append(r.spec.DenyWrite, scope)
	case "deny_read", "glob-deny":
		r.spec.DenyRead = append(r.spec.DenyRead, scope)
	case "deny":
		r.spec.DenyRead = append(r.spec.DenyRead, scope)
		r.spec.DenyWrite = append(r.spec.DenyWrite, scope)
	case "deny_write_component":
		r.spec.DenyWriteComponent = append(r.spec.DenyWriteComponent, scope)
	default:
		r.t.Fatalf("unknown policy verb %q", verb)
	}
	r.hasPolicy = true
}

// panicPolicy is a policy that cannot answer.
type panicPolicy struct{}

func (panicPolicy) Check(policyfs.Request) policyfs.Decision { panic("no answer") }

func (r *attackRun) policy() policyfs.Policy {
	if r.custom != nil {
		return r.custom
	}
	spec := r.spec
	if !r.hasPolicy {
		spec = fullSpec()
	}
	switch {
	case reflect.DeepEqual(spec, readWriteSpec()):
		return policyfs.ReadWrite()
	case reflect.DeepEqual(spec, readOnlySpec()):
		return policyfs.ReadOnly()
	}
	p, err := policyfs.Compile(spec)
	r.must(err)
	return p
}

// setup does the steps of a case's setup.
func (r *attackRun) setup() {
	for _, s := range r.c.Setup {
		a := make([]string, 4)
		for i := 1; i < len(s) && i < 4; i++ {
			a[i] = str(s[i])
		}
		switch str(s[0]) {
		case "dir":
			r.mkdir(r.hostSibling(a[1]))
		case "file":
			r.file(r.hostSibling(a[1]), a[2])
		case "filehex":
			data, err := hex.DecodeString(a[2])
			r.must(err)
			r.file(a[1], string(data))
		case "filehex-name":
			name, err := hex.DecodeString(a[2])
			r.must(err)
			r.must(os.WriteFile(filepath.Join(r.host(a[1]), string(name)), []byte(a[3]), 0o644))
		case "bigfile":
			size, err := strconv.ParseInt(a[2], 10, 64)
			r.must(err)
			r.big(a[1], size)
		case "symlink":
			r.link(a[1], a[2])
		case "fifo", "socket":
			hostSpecial(r.t, str(s[0]), r.host(a[1]))
		case "chmod":
			mode, err := strconv.ParseUint(a[2], 8, 32)
			r.must(err)
			r.box.chmod(a[1], goMode(uint32(mode)))
		case "rootpath":
			if a[1] == "/" {
				r.root = "/"
			} else {
				r.root = r.host(a[1])
			}
		case "cwd":
			r.cwd = r.host(a[1])
		case "policy":
			r.rule(s[1:])
		case "sub":
			r.sub = a[1]
		case "seed-file":
			r.seeds = append(r.seeds, policyfs.SeedFile{Name: a[1], Data: []byte(a[2]), ReadOnly: strings.HasPrefix(a[1], "/ro")})
		case "mount":
			access := namespace.ReadOnly
			if a[3] == "rw" {
				access = namespace.ReadWrite
			}
			r.mounts = append(r.mounts, namespace.Mount{At: a[1], Access: access, HostDir: a[2]})
		case "grant":
			access := namespace.ReadOnly
			if a[3] == "rw" {
				access = namespace.ReadWrite
			}
			r.box.mkdir(a[2])
			r.grants = append(r.grants, namespace.Grant{At: a[1], Dir: r.host(a[2]), Access: access})
		case "grant-label":
			r.grants = append(r.grants, namespace.Grant{Label: a[1], Kind: namespace.KindFolder, Dir: r.host(a[2])})
		case "session":
			if r.sessions == nil {
				r.sessions = map[string]string{}
			}
			r.sessions[a[1]] = a[2]
		case "fault":
			name, err := provider.ParsePath(strings.TrimPrefix(a[2], "W/"))
			r.must(err)
			r.wrapper = func(p provider.Provider) provider.Provider {
				s := newSpy(p)
				s.fault = func(method string, n provider.Path) error {
					if strings.EqualFold(method, a[1]) && n == name {
						return syscall.EIO
					}
					return nil
				}
				return s
			}
		case "overlay":
		default:
			r.t.Fatalf("unknown setup step %v", s)
		}
	}
	r.box.open()
	if r.wrapper != nil {
		r.w = r.wrapper(r.w)
	}
	r.build()
}

// hostSibling turns "P/W-secret" and the like into a host name.
func (r *attackRun) hostSibling(name string) string { return name }

// build makes the namespace and the face.
func (r *attackRun) build() {
	var err error
	switch {
	case r.grants != nil:
	case r.mounts != nil:
		mounts := slices.Clone(r.mounts)
		for i := range mounts {
			mounts[i].Provider = r.w
			if mounts[i].HostDir == "W2" {
				mounts[i].Provider = r.w2
			}
			mounts[i].HostDir = ""
		}
		r.ns, err = namespace.New(mounts...)
		r.must(err)
	case r.cwd != "":
		r.ns, err = namespace.FromGrants(namespace.Portable, func(dir string, _ namespace.Access) (provider.Provider, error) {
			return openDisk(r.t, dir), nil
		}, namespace.Grant{Dir: r.cwd, Kind: namespace.KindWorkspace, Access: namespace.ReadWrite, Default: true})
		r.must(err)
		r.opts.Dir, err = r.ns.DirFromHost(context.Background(), r.cwd)
		r.must(err)
	default:
		r.ns = namespace.Workspace(r.w)
	}
	r.handles = map[string]afero.File{}
	r.before = map[string]string{}
	r.opts.Audit = func(_ context.Context, e policyfs.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}
	if r.c.Platform == "windows" && runtime.GOOS != "windows" {
		r.opts.PortableNames = true
	}
	r.rebuild()
	if r.seeds != nil {
		r.must(r.face.Seed(r.seeds...))
	}
	if r.sessions != nil {
		r.sessionFS = map[string]*policyfs.FS{}
		for name, dir := range r.sessions {
			p := r.w
			if dir == "W2" {
				p = r.w2
			}
			r.sessionFS[name] = policyfs.New(namespace.Workspace(p), r.opts)
		}
	}
	for _, m := range r.c.Must {
		if str(m[0]) == "host-same" {
			r.before[str(m[1])] = r.snapshot(str(m[1]))
		}
	}
}

// rebuild makes the face anew, with the policy as it is now.
func (r *attackRun) rebuild() {
	r.opts.Policy = r.policy()
	var src namespace.Source
	if r.ns != nil {
		src = r.ns
	}
	if r.face != nil && r.seeds != nil {
		r.t.Fatal("a seeded face cannot be rebuilt")
	}
	r.face = policyfs.New(src, r.opts)
	r.fs = r.face
	if r.sub != "" {
		r.fs = afero.NewBasePathFs(r.face, r.sub)
	}
}

// expand replaces <abs X> by the host path of X.
func (r *attackRun) expand(s string) string {
	for {
		i := strings.Index(s, "<abs ")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], '>')
		s = s[:i] + r.host(s[i+5:i+j]) + s[i+j+1:]
	}
}

// do runs one call; a panic is part of the result.
func (r *attackRun) do(step []any) (res attackResult) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			res.panics, res.err = p, fmt.Errorf("panic: %v", p)
		}
		res.took = time.Since(start)
	}()
	a := make([]string, 5)
	for i := 1; i < len(step) && i < 5; i++ {
		a[i] = r.expand(str(step[i]))
		if a[i] != "" {
			res.args = append(res.args, a[i])
		}
	}
	op := str(step[0])
	if session, rest, ok := strings.Cut(op, ":"); ok && session != "host" {
		f := r.sessionFS[session]
		if f == nil {
			r.t.Fatalf("unknown session in %v", step)
		}
		save, saveFace := r.fs, r.face
		defer func() { r.fs, r.face = save, saveFace }()
		r.fs, r.face, op = f, f, rest
	}
	switch op {
	case "read":
		res.text, res.err = r.read(a[1])
	case "write":
		res.err = r.write(a[1], a[2])
	case "append":
		res.err = appendFile(r.fs, a[1], a[2])
	case "read-hexname", "write-hexname":
		name, err := hex.DecodeString(a[2])
		r.must(err)
		if op == "read-hexname" {
			res.text, res.err = r.read(a[1] + string(name))
		} else {
			res.err = r.write(a[1]+string(name), a[3])
		}
	case "open":
		flag := map[string]int{"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR, "a": os.O_WRONLY | os.O_APPEND, "w+creat": os.O_WRONLY | os.O_CREATE}[a[3]]
		perm := uint64(0o644)
		if a[4] != "" {
			perm, _ = strconv.ParseUint(a[4], 8, 32)
		}
		var f afero.File
		f, res.err = r.fs.OpenFile(a[2], flag, goMode(uint32(perm)))
		if res.err == nil {
			r.handles[a[1]] = f
		} else {
			delete(r.handles, a[1])
		}
	case "close", "hread", "hwrite", "hwritestring", "hwriteat", "htruncate", "hsync", "hseek", "hreaddir", "hreaddirnames", "hname", "hstat", "hfd", "type-assert-osfile":
		h := r.handles[a[1]]
		if h == nil {
			res.err = errors.New("no such handle")
			return res
		}
		r.handle(h, op, a, &res)
	case "stat", "lstat":
		var info fs.FileInfo
		if op == "stat" {
			info, res.err = r.fs.Stat(a[1])
		} else {
			info, _, res.err = r.face.LstatIfPossible(a[1])
		}
		if res.err == nil {
			res.text = describe(info)
		}
	case "LstatIfPossible":
		var info fs.FileInfo
		if info, _, res.err = r.fs.(afero.Lstater).LstatIfPossible(a[1]); res.err == nil {
			res.text = describe(info)
		}
	case "readlink", "ReadlinkIfPossible":
		if l, ok := r.fs.(afero.LinkReader); ok {
			res.text, res.err = l.ReadlinkIfPossible(a[1])
		} else {
			res.err = errors.ErrUnsupported
		}
	case "symlink", "SymlinkIfPossible":
		if l, ok := r.fs.(afero.Linker); ok {
			res.err = l.SymlinkIfPossible(a[1], a[2])
		} else {
			res.err = errors.ErrUnsupported
		}
	case "list":
		var list []fs.FileInfo
		list, res.err = afero.ReadDir(r.fs, a[1])
		for _, info := range list {
			res.names = append(res.names, info.Name())
			res.text += describe(info) + "\n"
		}
	case "walk":
		for e, err := range r.face.Walk(a[1]) {
			if err != nil {
				res.err = err
				res.text += err.Error() + "\n"
				continue
			}
			res.names = append(res.names, e.Name)
		}
	case "glob":
		res.names, res.err = r.face.Glob(a[1])
		res.count = len(res.names)
	case "grep":
		q := policyfs.Query{Pattern: a[2], Literal: a[3] != "regex"}
		for m, err := range r.face.Grep(a[1], q) {
			if err != nil {
				res.err = err
				res.text += err.Error() + "\n"
				continue
			}
			res.count++
			res.text += m.Name + ":" + m.Text + "\n"
		}
	case "mkdir":
		res.err = r.fs.Mkdir(a[1], 0o755)
	case "mkdirall":
		res.err = r.fs.MkdirAll(a[1], 0o755)
	case "remove":
		res.err = r.fs.Remove(a[1])
	case "removeall":
		res.err = r.fs.RemoveAll(a[1])
	case "rename":
		res.err = r.fs.Rename(a[1], a[2])
	case "chmod":
		mode, err := strconv.ParseUint(a[2], 8, 32)
		r.must(err)
		res.err = r.fs.Chmod(a[1], goMode(uint32(mode)))
	case "chtimes":
		res.err = r.fs.Chtimes(a[1], time.Unix(1, 0), time.Unix(2, 0))
	case "chown":
		res.err = r.fs.Chown(a[1], 0, 0)
	case "truncate":
		var f afero.File
		if f, res.err = r.fs.OpenFile(a[1], os.O_WRONLY, 0); res.err == nil {
			size, err := strconv.ParseInt(a[2], 10, 64)
			r.must(err)
			res.err = errors.Join(f.Truncate(size), f.Close())
		}
	case "copy":
		var data string
		if data, res.err = r.read(a[1]); res.err == nil {
			res.err = r.write(a[2], data)
		}
	case "edit":
		data, digest, err := r.face.ReadFile(a[1])
		if res.err = err; err == nil {
			edited := strings.ReplaceAll(string(data), a[2], a[3])
			_, res.err = r.face.WriteFile(a[1], []byte(edited), provider.ReplaceOptions{If: provider.IfMatch(digest)})
		}
	case "tempfile":
		var f afero.File
		if f, res.err = afero.TempFile(r.fs, a[1], a[2]); res.err == nil {
			f.Close()
		}
	case "tempdir":
		_, res.err = afero.TempDir(r.fs, a[1], a[2])
	case "policy-set":
		r.custom, r.spec, r.hasPolicy = nil, policyfs.Spec{}, false
		r.rule(step[1:])
		r.rebuild()
	case "policy-add":
		r.rule(step[1:])
		r.rebuild()
	case "policy-build":
		save := r.spec
		r.spec = policyfs.Spec{}
		r.rule(step[1:])
		_, res.err = policyfs.Compile(r.spec)
		r.spec, r.hasPolicy = save, false
	case "build":
		_, res.err = namespace.FromGrants(namespace.Portable, func(dir string, _ namespace.Access) (provider.Provider, error) {
			return openDisk(r.t, dir), nil
		}, r.grants...)
	case "to-agent":
		n, err := r.grantNamespace()
		r.must(err)
		p, ok := n.FromHost(a[1])
		if !ok {
			res.err = namespace.ErrOutside
		} else {
			res.text = n.Display(p)
		}
	case "mount-build":
		res.err = r.mountSelf(a[1])
	case "chain-long-dirs-and-links":
		r.longChain()
	case "race":
		res.text = r.race(step[1].([]any), step[2].([]any))
	case "parallel":
		n := int(step[2].(float64))
		var wg sync.WaitGroup
		errs := make([]error, n)
		for i := range n {
			wg.Go(func() { errs[i] = r.do(step[1].([]any)).err })
		}
		wg.Wait()
		res.err = errors.Join(errs...)
	case "host:remove":
		r.must(os.Remove(r.host(a[1])))
	case "host:symlink":
		r.must(os.Symlink(r.host(a[2]), r.host(a[1])))
	default:
		r.t.Fatalf("unknown call %v", step)
	}
	return res
}

func (r *attackRun) grantNamespace() (*namespace.Namespace, error) {
	return namespace.FromGrants(namespace.Portable, func(dir string, _ namespace.Access) (provider.Provider, error) {
		return openDisk(r.t, dir), nil
	}, r.grants...)
}

// mountSelf mounts the face into its own namespace: through a provider around it,
// and a table that changes under it, because nothing else can.
func (r *attackRun) mountSelf(at string) error {
	var live namespace.Live
	opts := r.opts
	opts.MaxWalk = 60
	r.face = policyfs.New(&live, opts)
	r.fs = r.face
	n, err := namespace.New(namespace.Mount{At: at, Access: namespace.ReadWrite, Provider: faceProvider{r.w, r.face}})
	if err != nil {
		return err
	}
	live.Store(n)
	return nil
}

// faceProvider serves a face as a provider: a loop, if the face leads to it.
type faceProvider struct {
	provider.Provider
	f *policyfs.FS
}

func (p faceProvider) Open(_ context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := p.f.Open("/" + strings.TrimPrefix(name.String(), "."))
	if err != nil {
		return nil, err
	}
	return faceFile{f.(*policyfs.File)}, nil
}

func (p faceProvider) Stat(_ context.Context, name provider.Path) (fs.FileInfo, error) {
	return p.f.Stat("/" + strings.TrimPrefix(name.String(), "."))
}

type faceFile struct{ *policyfs.File }

func (f faceFile) Append(p []byte) (int, int64, error) { return 0, 0, errors.ErrUnsupported }

func (r *attackRun) handle(h afero.File, op string, a []string, res *attackResult) {
	switch op {
	case "close":
		res.err = h.Close()
	case "hread":
		buf := make([]byte, 4096)
		n, err := h.Read(buf)
		res.text, res.err = string(buf[:n]), err
	case "hwrite":
		_, res.err = h.Write([]byte(a[2]))
	case "hwritestring":
		_, res.err = h.WriteString(a[2])
	case "hwriteat":
		off, _ := strconv.ParseInt(a[3], 10, 64)
		_, res.err = h.WriteAt([]byte(a[2]), off)
	case "htruncate":
		size, err := strconv.ParseInt(a[2], 10, 64)
		r.must(err)
		res.err = h.Truncate(size)
	case "hsync":
		res.err = h.Sync()
	case "hseek":
		off, err := strconv.ParseInt(a[2], 10, 64)
		r.must(err)
		_, res.err = h.Seek(off, map[string]int{"start": io.SeekStart, "cur": io.SeekCurrent, "end": io.SeekEnd}[a[3]])
	case "hreaddir", "hreaddirnames":
		n := -1
		if a[2] != "" {
			n, _ = strconv.Atoi(a[2])
		}
		if op == "hreaddirnames" {
			res.names, res.err = h.Readdirnames(n)
			return
		}
		var list []fs.FileInfo
		list, res.err = h.Readdir(n)
		for _, info := range list {
			res.names = append(res.names, info.Name())
			res.text += describe(info)
		}
		if n > 0 && len(list) == 0 && res.err == nil {
			r.t.Error("an empty page without an error")
		}
	case "hname":
		res.text = h.Name()
	case "hstat":
		info, err := h.Stat()
		if res.err = err; err == nil {
			res.text = describe(info)
		}
	case "type-assert-osfile":
		_, res.flag = h.(*os.File)
	case "hfd":
		_, fd := h.(interface{ Fd() uintptr })
		_, conn := h.(syscall.Conn)
		_, chmod := h.(interface{ Chmod(fs.FileMode) error })
		res.flag = fd || conn || chmod
	}
}

// describe prints everything that a FileInfo tells.
func describe(info fs.FileInfo) string {
	return fmt.Sprintf("%s %v %d sys=%v", info.Name(), info.Mode(), info.Size(), info.Sys())
}

func (r *attackRun) read(name string) (string, error) {
	if r.flavor == flavorOwn && r.sub == "" {
		data, _, err := r.face.ReadFile(name)
		return string(data), err
	}
	data, err := afero.ReadFile(r.fs, name)
	return string(data), err
}

func (r *attackRun) write(name, data string) error {
	if r.flavor == flavorOwn && r.sub == "" {
		_, err := r.face.WriteFile(name, []byte(data), provider.ReplaceOptions{})
		return err
	}
	return afero.WriteFile(r.fs, name, []byte(data), 0o644)
}

func appendFile(f afero.Fs, name, data string) error {
	h, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = h.WriteString(data)
	return errors.Join(err, h.Close())
}

// goMode turns unix mode bits into those of package fs.
func goMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// longChain makes 16 nested directories with names of 247 bytes, and beside each
// a link of one byte to it. os.Root makes them, because their path is too long
// for one call.
func (r *attackRun) longChain() {
	long := strings.Repeat("d", 247)
	at, err := os.OpenRoot(r.host("W"))
	r.must(err)
	for range 16 {
		r.must(at.Mkdir(long, 0o755))
		r.must(at.Symlink(long, "l"))
		next, err := at.OpenRoot(long)
		r.must(err)
		at.Close()
		at = next
	}
	at.Close()
}

// chainName expands what a case calls <through chain>.
func chainName(s string) string {
	return strings.ReplaceAll(s, "<through chain>", strings.TrimSuffix(strings.Repeat("l/", 16), "/"))
}

// check evaluates one must of the case.
func (r *attackRun) check(m []any) error {
	head := str(m[0])
	arg := func(i int) string {
		if i < len(m) {
			return r.expand(str(m[i]))
		}
		return ""
	}
	verb, at, _ := strings.Cut(head, "@")
	at, _, _ = strings.Cut(at, "|")
	at, cond, _ := strings.Cut(at, ":")
	var results []int
	switch at {
	case "":
		results = []int{len(r.results) - 1}
	case "*":
		for i := range r.results {
			results = append(results, i)
		}
	default:
		i, err := strconv.Atoi(at)
		if err != nil {
			r.t.Fatalf("bad must %v", m)
		}
		results = []int{i}
	}
	for _, i := range results {
		if err := r.checkAt(verb, cond, i, m, arg); err != nil {
			return fmt.Errorf("call %d %v: %w", i, r.c.Call[i], err)
		}
	}
	return nil
}

func (r *attackRun) checkAt(verb, cond string, i int, m []any, arg func(int) string) error {
	res := r.results[i]
	switch verb {
	case "refused":
		if res.err == nil {
			return errors.New("not refused")
		}
	case "err": // "notexist|refused": any error says either
		if res.err == nil {
			return errors.New("no error")
		}
		if cond == "denied" && !errors.As(res.err, new(*policyfs.DeniedError)) {
			return fmt.Errorf("%w, want a denial", res.err)
		}
		if cond == "notexist" && len(m) == 1 && !strings.Contains(str(m[0]), "refused") && !errors.Is(res.err, fs.ErrNotExist) {
			return fmt.Errorf("%w, want fs.ErrNotExist", res.err)
		}
	case "ok":
		return res.err
	case "content":
		if res.err != nil || res.text != arg(1) {
			return fmt.Errorf("%q, %v, want %q", res.text, res.err, arg(1))
		}
	case "names":
		want := []string{}
		for j := 1; j < len(m); j++ {
			want = append(want, arg(j))
		}
		if res.err != nil || !slices.Equal(res.names, want) && len(res.names)+len(want) > 0 {
			return fmt.Errorf("%q, %v, want %q", res.names, res.err, want)
		}
	case "matches", "count":
		if want, _ := strconv.Atoi(arg(1)); res.count != want {
			return fmt.Errorf("%d matches (%v), want %d", res.count, res.err, want)
		}
	case "lacks", "lacks-output":
		for j, res := range r.results {
			text := res.text + "\n" + strings.Join(res.names, "\n")
			if res.err != nil && verb == "lacks" {
				text += "\n" + withoutArgs(res.err.Error(), res.args)
			}
			if strings.Contains(text, arg(1)) {
				return fmt.Errorf("call %d says %q", j, text)
			}
		}
	case "same-error":
		a, b := r.results[atoi(arg(1))], r.results[atoi(arg(2))]
		if a.err == nil || b.err == nil {
			return fmt.Errorf("no errors: %v, %v", a.err, b.err)
		}
		if x, y := withoutArgs(a.err.Error(), a.args), withoutArgs(b.err.Error(), b.args); x != y {
			return fmt.Errorf("errors differ: %q, %q", x, y)
		}
	case "within-ms":
		if limit := time.Duration(atoi(arg(1))) * time.Millisecond; res.took > limit {
			return fmt.Errorf("took %v, limit %v", res.took, limit)
		}
	case "bool":
		if res.flag != (arg(1) == "true") {
			return fmt.Errorf("%v, want %s", res.flag, arg(1))
		}
	case "equals":
		if res.text != arg(1) {
			return fmt.Errorf("%q, %v, want %q", res.text, res.err, arg(1))
		}
	case "error-says-partial":
		var partial *policyfs.PartialError
		if !errors.As(res.err, &partial) || !strings.Contains(res.err.Error(), "partly done") {
			return fmt.Errorf("%v does not say what is left", res.err)
		}
	case "no-panic":
		// every panic is a fault, asked for or not
	case "errors-as":
		var denied *policyfs.DeniedError
		if arg(1) != "DeniedError" || !errors.As(res.err, &denied) {
			return fmt.Errorf("%v (%T) is no %s", res.err, res.err, arg(1))
		}
	case "field":
		var denied *policyfs.DeniedError
		if !errors.As(res.err, &denied) {
			return fmt.Errorf("%v is no denial", res.err)
		}
		got := map[string]string{"Op": denied.Op.String(), "Rule": denied.Rule, "Path": denied.Path.String()}[arg(1)]
		if got != arg(2) {
			return fmt.Errorf("%s is %q, want %q", arg(1), got, arg(2))
		}
	case "any-of":
		var errs []error
		for _, alt := range m[1:] {
			err := r.check(alt.([]any))
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	default:
		return r.checkHost(verb, arg)
	}
	return nil
}

// checkHost evaluates the musts about the storage and the audit.
func (r *attackRun) checkHost(verb string, arg func(int) string) error {
	switch verb {
	case "host-same":
		if now := r.snapshot(arg(1)); now != r.before[arg(1)] {
			return fmt.Errorf("%s changed:\n%s\nwas\n%s", arg(1), now, r.before[arg(1)])
		}
	case "host-content":
		if got, err := r.content(arg(1)); err != nil || got != arg(2) {
			return fmt.Errorf("%s is %q, %v, want %q", arg(1), got, err, arg(2))
		}
	case "host-absent":
		if _, err := r.box.lstat(arg(1)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %v, want absent", arg(1), err)
		}
	case "host-present":
		if _, err := r.box.lstat(arg(1)); err != nil {
			return err
		}
	case "host-link":
		info, err := r.box.lstat(arg(1))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s: %v, %v, want a link", arg(1), info, err)
		}
	case "host-mode", "host-mode-lacks":
		info, err := r.box.lstat(arg(1))
		if err != nil {
			return err
		}
		bits, _ := strconv.ParseUint(arg(2), 8, 32)
		want := goMode(uint32(bits))
		if verb == "host-mode" && info.Mode() != want || verb == "host-mode-lacks" && info.Mode()&want != 0 {
			return fmt.Errorf("%s has mode %v, %s %v", arg(1), info.Mode(), verb, want)
		}
	case "content-of":
		data, err := r.read(arg(1))
		if err != nil || data != arg(2) {
			return fmt.Errorf("%s is %q, %v, want %q", arg(1), data, err, arg(2))
		}
	case "size":
		data, err := r.content("W/log")
		if err != nil || len(data) != atoi(arg(1)) {
			return fmt.Errorf("%d bytes, %v, want %s", len(data), err, arg(1))
		}
	case "lines-whole":
		data, err := r.content("W/log")
		if err != nil {
			return err
		}
		for line := range strings.Lines(data) {
			if line != "0123456789\n" {
				return fmt.Errorf("line %q", line)
			}
		}
	case "audit-single-line", "audit-lacks":
		if len(r.events) == 0 {
			return errors.New("no audit events")
		}
		for _, e := range r.events {
			line := fmt.Sprint(e.Op, " ", e.Path, " ", e.Allow, " ", e.Rule, " ", e.Name)
			if verb == "audit-lacks" && strings.Contains(line, arg(1)) || strings.ContainsAny(line, "\n\r\u2028\u2029\u0085") {
				return fmt.Errorf("audit line %q", line)
			}
		}
	case "audit-count":
		n := 0
		for _, e := range r.events {
			if !e.Done {
				n++
			}
		}
		if n != atoi(arg(1)) {
			return fmt.Errorf("%d decisions: %+v", n, r.events)
		}
	case "audit-field":
		for _, e := range r.events {
			if arg(1) != "allowed" || fmt.Sprint(e.Allow) != arg(2) {
				return fmt.Errorf("audit event %+v", e)
			}
		}
	default:
		r.t.Fatalf("unknown must %q", verb)
	}
	return nil
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

// withoutArgs removes the names that the caller gave, in their own and in their
// canonical spelling, from an error text: what is left is what the face says.
func withoutArgs(text string, args []string) string {
	for _, a := range args {
		if a == "/" || len(a) < 2 {
			continue
		}
		if p, err := namespace.Parse(namespace.MustParse("/"), a); err == nil {
			text = strings.ReplaceAll(text, p.String(), "$NAME")
		}
		text = strings.ReplaceAll(text, a, "$NAME")
	}
	return text
}

// runAttack replays one case; it returns the run for its musts.
func runAttack(t testing.TB, c attackCase, kind string, fl flavor) *attackRun {
	t.Helper()
	r := &attackRun{box: newBox(t, kind), c: c, flavor: fl}
	r.setup()
	for _, step := range c.Call {
		for i := range step {
			if s, ok := step[i].(string); ok {
				step[i] = chainName(s)
			}
		}
		res := r.do(step)
		if res.panics != nil {
			t.Fatalf("call %v: panic: %v", step, res.panics)
		}
		r.results = append(r.results, res)
		checkErrorShape(t, r, step, res)
	}
	for _, h := range r.handles {
		h.Close()
	}
	return r
}

// checkErrorShape holds for every call of every case: no host path in an error,
// unless the caller gave it.
func checkErrorShape(t testing.TB, r *attackRun, step []any, res attackResult) {
	t.Helper()
	if res.err == nil {
		return
	}
	text := withoutArgs(res.err.Error(), res.args)
	if strings.Contains(text, r.dir()) {
		t.Errorf("call %v: host path in %q", step, text)
	}
	var pe *fs.PathError
	var le *os.LinkError
	if errors.As(res.err, &pe) && strings.Contains(withoutArgs(pe.Path, res.args), r.dir()) ||
		errors.As(res.err, &le) && strings.Contains(withoutArgs(le.Old+le.New, res.args), r.dir()) {
		t.Errorf("call %v: host path in %#v", step, res.err)
	}
}
