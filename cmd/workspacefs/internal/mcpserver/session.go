package mcpserver

//lint:file-ignore SA1019 roots are deprecated for the protocol versions without sessions, which this server does not speak

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// rootsTimeout bounds how long a tool call waits for the client to name its
// roots, and maxRoots how many are looked at.
const (
	rootsTimeout = 10 * time.Second
	maxRoots     = 1000
)

// A session is what the server remembers about one client connection.
type session struct {
	server *Server
	mcp    *mcp.ServerSession
	known  known

	mu      sync.Mutex // guards what follows; held while the client is asked
	rooted  view
	current bool // rooted is up to date
}

// A view is the filesystem of a session with its working directory.
type view struct {
	fs  *policyfs.FS
	dir namespace.Path
}

// session finds or makes the state of a connection, which goes with it.
func (s *Server) session(ss *mcp.ServerSession) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.sessions[ss]; ok {
		return found
	}
	made := &session{server: s, mcp: ss}
	s.sessions[ss] = made
	go func() {
		_ = ss.Wait() // how it ended does not matter here
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, ss)
	}()
	return made
}

// forgetRoots makes the next call ask the client again.
func (s *session) forgetRoots() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.rooted = false, view{}
}

// errRoots is the refusal of everything while the client's roots are unknown.
var errRoots = errors.New("the client declares roots but did not name them, so nothing is granted; ask the user to check the roots of the agent host")

// view is the workspace as configured, narrowed by the client's roots if it
// declares any.
func (s *session) view(ctx context.Context) (view, error) {
	ctx = withSessionID(ctx, s.mcp.ID())
	params := s.mcp.InitializeParams()
	if params == nil || params.Capabilities == nil || params.Capabilities.RootsV2 == nil {
		return view{s.server.base.fs.WithContext(ctx), s.server.base.dir}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.current {
		asked, cancel := context.WithTimeout(ctx, rootsTimeout)
		defer cancel()
		res, err := s.mcp.ListRoots(asked, nil)
		if err != nil {
			return view{}, errRoots
		}
		if s.rooted, err = s.server.narrow(ctx, res.Roots); err != nil {
			return view{}, err
		}
		s.current = true
	}
	return view{s.rooted.fs.WithContext(ctx), s.rooted.dir}, nil
}

// narrow restricts the workspace to the roots. A root that names nothing granted
// grants nothing.
func (s *Server) narrow(ctx context.Context, roots []*mcp.Root) (view, error) {
	if len(roots) > maxRoots {
		return view{}, fmt.Errorf("the client names more than %d roots, so nothing is granted", maxRoots)
	}
	var scopes []namespace.Path
	for _, r := range roots {
		if dir, ok := fileURI(r.URI); ok {
			scopes = append(scopes, s.scopes(ctx, dir)...)
		}
	}
	if len(scopes) == 0 {
		return view{s.base.fs.WithPolicy(policyfs.Compose()), s.base.dir}, nil
	}
	var texts []string
	inside := false
	for _, p := range scopes {
		texts = append(texts, p.String())
		inside = inside || p.Contains(s.base.dir)
	}
	// Everything but where: what is hidden, sensitive or recursive is decided
	// by the policy that this one is composed with.
	all := []string{"/"}
	only, err := policyfs.Compile(policyfs.Spec{
		AllowRead: texts, AllowWrite: texts, AllowHidden: all, AllowSensitive: all, AllowRecursiveDelete: true,
	})
	if err != nil {
		return view{}, errRoots
	}
	f := s.base.fs.WithPolicy(only)
	if inside {
		return view{f, s.base.dir}, nil
	}
	return view{f.WithDir(scopes[0]), scopes[0]}, nil
}

// scopes are the agent paths that a directory of the client's stands for: the
// mounts that lie inside it, else its place inside a mount.
func (s *Server) scopes(ctx context.Context, dir string) []namespace.Path {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil
	}
	var found []namespace.Path
	for _, m := range s.ns.BindMounts() {
		if !lies(m.HostDir, info) {
			continue
		}
		if p, err := namespace.Parse(namespace.MustParse("/"), m.At); err == nil {
			found = append(found, p)
		}
	}
	if len(found) > 0 || !info.IsDir() {
		return found
	}
	p, err := s.ns.DirFromHost(ctx, real)
	if err != nil {
		return nil
	}
	return []namespace.Path{p}
}

// lies reports whether dir is the directory of info or lies below it, by
// identity, so that links and bind mounts do not hide it.
func lies(dir string, info os.FileInfo) bool {
	for {
		at, err := os.Stat(dir)
		if err != nil {
			return false
		}
		if os.SameFile(at, info) {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// fileURI is the absolute host path of a file URI.
func fileURI(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || strings.ContainsRune(u.Path, 0) {
		return "", false
	}
	p := u.Path
	if runtime.GOOS == "windows" && len(p) >= 3 && p[0] == '/' && p[2] == ':' {
		p = p[1:]
	}
	p = filepath.FromSlash(p)
	return filepath.Clean(p), filepath.IsAbs(p)
}
