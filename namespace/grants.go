package namespace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/workspacefs/workspacefs/provider"
)

// Grant gives agents one host directory.
type Grant struct {
	// Dir is the host directory. It is trusted configuration: links in it are
	// followed once, when the Namespace is made, and ".." is the physical
	// parent. A relative Dir starts at the process's working directory.
	Dir string
	// Label is what people call it; [MountName] makes the agent root of it.
	Label string
	// Kind chooses the agent root.
	Kind Kind
	// Access is what agents may do; the zero value is ReadOnly.
	Access Access
	// At is an explicit agent root; empty means the one of the vocabulary.
	At string
	// Default marks the selected default workspace, for the working directory.
	// At most one Grant may have it.
	Default bool
}

// Mode says what agent roots look like.
type Mode uint8

const (
	// Portable roots are /workspace/<name>, /data and /mnt/<name>, and hide
	// where things are on the host.
	Portable Mode = iota
	// Host roots are the real paths of the host ("/C/x" for C:\x), for agents
	// that share them with other programs.
	Host
)

// Opener makes the provider of a granted directory, for example
//
//	func(dir string, access namespace.Access) (provider.Provider, error) {
//		return diskfs.Open(dir, diskfs.Options{ReadOnly: access == namespace.ReadOnly})
//	}
//
// dir is absolute and without links. The Namespace owns the result. A provider
// with a method SameDir(dir string) bool, which reports whether dir is the
// directory that it serves, is asked whether it got the directory that was
// checked.
type Opener func(dir string, access Access) (provider.Provider, error)

// FromGrants makes a Namespace of host directories. Directories are opened once
// each, by open, and closed by [Namespace.Close]; on an error everything opened
// is closed.
//
// In Portable mode the agent roots are /workspace/<MountName(Label)>, /data and
// /mnt/<MountName(Label)>, by Kind; in Host mode the real paths of the
// directories; Grant.At overrides both.
//
// Rights follow the host directory, not the spelling. Where one directory lies
// inside another, by identity, so that links and bind mounts do not hide it, the
// inner grant's access holds at both agent paths: the inner one is mounted below
// the outer one too. Equal directories granted with different access are
// read-only at both.
//
// The working directory is the Default grant when it is writable, else the first
// writable grant, else there is none.
//
// Errors: no grants (never "everything"), two grants at one agent root, a
// workspace named data or mnt around another root, a root that agents cannot
// spell, in Host mode the root directory of the host, or a directory at or below
// /workspace beside others; a directory that cannot be opened, is none, or
// changes meanwhile; a Dir that goes through a link inside another writable
// grant, where an agent could redirect it; an unknown Mode, Kind or Access. They
// name the grant by position and label, never by its directory.
func FromGrants(mode Mode, open Opener, grants ...Grant) (n *Namespace, err error) {
	switch {
	case mode > Host:
		return nil, invalid("unknown mode")
	case open == nil:
		return nil, invalid("no opener")
	case len(grants) == 0:
		return nil, invalid("no grants")
	}
	b := &grantTable{mode: mode, open: open}
	defer func() {
		if err != nil {
			for _, p := range b.opened {
				p.Close()
			}
		}
	}()
	for i, g := range grants {
		if err := b.add(g); err != nil {
			return nil, &grantError{i, g.Label, err}
		}
	}
	steps := []func() error{b.checkRoots, b.checkDefault, b.checkLinks, b.settle, b.openAll, b.nest}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	n, err = build(b.mounts)
	if err != nil {
		return nil, err
	}
	n.dir, n.opened, n.aliases = b.dir(), b.opened, b.aliases
	n.shorthand = mode == Portable && n.root.mount == nil
	return n, nil
}

// Close closes the providers that [FromGrants] opened; after it, their mounts
// answer fs.ErrClosed, and open files stay usable. A second Close is
// fs.ErrClosed. For a Namespace made by [New] it does nothing.
func (n *Namespace) Close() error {
	if n == nil || len(n.opened) == 0 {
		return nil
	}
	err := fs.ErrClosed
	n.closeOnce.Do(func() {
		errs := make([]error, len(n.opened))
		for i, p := range n.opened {
			errs[i] = p.Close()
		}
		err = errors.Join(errs...)
	})
	return err
}

// grantError says which grant is wrong.
type grantError struct {
	index int
	label string
	cause error
}

func (e *grantError) Error() string {
	return fmt.Sprintf("grant %d (label %s): %v", e.index, Quote(e.label), e.cause)
}

func (e *grantError) Unwrap() error { return e.cause }

// grantTable is a Namespace in the making.
type grantTable struct {
	mode    Mode
	open    Opener
	grants  []*granted
	opened  []provider.Provider
	mounts  []*mount
	aliases []aliasPair
}

// granted is one grant with what is known of its directory.
type granted struct {
	Grant
	index  int
	at     Path
	bare   bool
	access Access        // effective
	dir    string        // Dir without links
	chain  []fs.FileInfo // identity of dir and of each parent, up to the root
	links  []string      // directories of the links in Dir
	first  *granted      // the first grant of the same directory, maybe itself
	source provider.Provider
}

// identity is that of the directory.
func (g *granted) identity() fs.FileInfo { return g.chain[0] }

// fail is an error about g.
func (g *granted) fail(err error) error { return &grantError{g.index, g.Label, err} }

// add looks at the directory of one grant.
func (b *grantTable) add(grant Grant) error {
	if grant.Kind > KindFolder || grant.Access > ReadWrite {
		return invalid("unknown kind or access")
	}
	g := &granted{Grant: grant, index: len(b.grants), access: grant.Access}
	g.first = g
	if err := g.inspect(); err != nil {
		return err
	}
	if err := g.place(b.mode); err != nil {
		return err
	}
	for _, o := range b.grants {
		if os.SameFile(o.identity(), g.identity()) {
			g.first = o.first
			break
		}
	}
	b.grants = append(b.grants, g)
	return nil
}

// inspect finds the real directory and its identity.
func (g *granted) inspect() error {
	path := g.Dir
	if path == "" {
		return invalid("no directory")
	}
	if !filepath.IsAbs(path) {
		wd, err := os.Getwd()
		if err != nil {
			return bareError(err)
		}
		path = joinHost(wd, path) // not filepath.Join, which takes link/.. for nothing
	}
	w, err := resolveHost(context.Background(), path)
	if err != nil {
		return err
	}
	if w.tail != "" {
		return fs.ErrNotExist
	}
	g.dir, g.links = w.at, w.links
	g.chain, err = identities(g.dir)
	if err == nil && !g.identity().IsDir() {
		return invalid("not a directory")
	}
	return err
}

// identities describes dir and each of its parents.
func identities(dir string) ([]fs.FileInfo, error) {
	var chain []fs.FileInfo
	for {
		info, err := os.Lstat(dir)
		if err != nil {
			return nil, bareError(err)
		}
		chain = append(chain, info)
		parent := filepath.Dir(dir)
		if parent == dir {
			return chain, nil
		}
		dir = parent
	}
}

// place chooses the agent root.
func (g *granted) place(mode Mode) (err error) {
	name := g.At
	switch {
	case name != "":
	case mode == Host:
		if name, err = hostRoot(g.dir); err != nil {
			return err
		}
	case g.Kind == KindWorkspace:
		name = rootText + "/" + MountName(g.Label)
	case g.Kind == KindData:
		name = "/data"
	default:
		name = "/mnt/" + MountName(g.Label)
	}
	g.at, g.bare, err = parseMountPoint(name)
	return err
}

// hostRoot is a host directory as an agent root.
func hostRoot(dir string) (string, error) {
	volume := filepath.VolumeName(dir)
	rest := filepath.ToSlash(dir[len(volume):])
	if runtime.GOOS == "windows" {
		if len(volume) != 2 || volume[1] != ':' {
			return "", refusal("a directory that is not on a drive has no agent root")
		}
		return "/" + strings.ToUpper(volume[:1]) + rest, nil
	}
	if rest == "/" {
		return "", refusal("the root directory of the host contains /workspace, which is the root of agents")
	}
	return rest, nil
}

// checkRoots refuses agent roots that collide.
func (b *grantTable) checkRoots() error {
	for i, g := range b.grants {
		if b.mode == Host && g.At == "" && !g.bare && len(b.grants) > 1 {
			return g.fail(invalid("a host directory at or below /workspace cannot be granted beside others"))
		}
		for _, o := range b.grants[:i] {
			if o.at == g.at {
				return g.fail(invalid("two grants at " + g.at.s))
			}
		}
	}
	for _, g := range b.grants {
		if b.mode != Portable || g.Kind != KindWorkspace || g.At != "" {
			continue
		}
		for _, o := range b.grants {
			if o != g && g.at.Contains(o.at) && (o.bare || o.At == "") {
				return g.fail(invalid("the workspace name " + g.at.Base() + " collides with the root " + o.at.s))
			}
		}
	}
	return nil
}

// checkDefault refuses several default workspaces.
func (b *grantTable) checkDefault() error {
	chosen := false
	for _, g := range b.grants {
		if g.Default && chosen {
			return g.fail(invalid("a second default workspace"))
		}
		chosen = chosen || g.Default
	}
	return nil
}

// checkLinks refuses directories that an agent could redirect.
func (b *grantTable) checkLinks() error {
	for _, g := range b.grants {
		for _, dir := range g.links {
			chain, err := identities(dir)
			if err != nil {
				return g.fail(err)
			}
			for _, o := range b.grants {
				if o != g && o.Access == ReadWrite && indexOf(chain, o.identity()) >= 0 {
					return g.fail(invalid(fmt.Sprintf("its directory goes through a link inside the writable grant %d", o.index)))
				}
			}
		}
	}
	return nil
}

// indexOf returns the place of info in chain, or -1.
func indexOf(chain []fs.FileInfo, info fs.FileInfo) int {
	return slices.IndexFunc(chain, func(c fs.FileInfo) bool { return os.SameFile(c, info) })
}

// settle makes the access of equal directories equal.
func (b *grantTable) settle() error {
	for _, g := range b.grants {
		g.first.access = min(g.first.access, g.Access)
	}
	for _, g := range b.grants {
		g.access = g.first.access
	}
	return nil
}

// openAll opens each directory once.
func (b *grantTable) openAll() error {
	for _, g := range b.grants {
		if g.first == g {
			p, err := b.openDir(g.dir, g.identity(), g.access)
			if err != nil {
				return g.fail(err)
			}
			g.source = p
		}
		g.source = g.first.source
		b.mounts = append(b.mounts, g.mount(g.at, g.bare, g.dir))
	}
	return nil
}

// mount is g at one place, seen as the host directory dir.
func (g *granted) mount(at Path, bare bool, dir string) *mount {
	return &mount{
		at: at, bare: bare, access: g.access, provider: g.source,
		storage: storageOf(g.source, g.first), hostDir: dir, identity: g.identity(), label: g.Label, kind: g.Kind,
	}
}

// openDir opens one directory, which must be the one that was inspected.
func (b *grantTable) openDir(dir string, identity fs.FileInfo, access Access) (provider.Provider, error) {
	p, err := b.open(dir, access)
	if err != nil {
		return nil, bareError(err)
	}
	if p == nil {
		return nil, invalid("the opener returned no provider")
	}
	b.opened = append(b.opened, p)
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, bareError(err)
	}
	if s, ok := p.(sameDirer); !os.SameFile(info, identity) || ok && !s.SameDir(dir) {
		return nil, errMoved
	}
	return p, nil
}

// dir is the default working directory.
func (b *grantTable) dir() Path {
	var first Path
	for _, g := range b.grants {
		if g.access != ReadWrite {
			continue
		}
		if g.Default {
			return g.at
		}
		if first.s == "" {
			first = g.at
		}
	}
	return first
}
