package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// need is what must be there for a requirement to apply.
type need uint32

const (
	needWrite          need = 1 << iota // Features.Write
	needInPlace                         // Features.InPlace
	needChmod                           // Features.Chmod
	needChtimes                         // Features.Chtimes
	needLinks                           // a way to plant links
	needHostDir                         // Harness.HostDir
	needPOSIX                           // FIFOs and odd names in HostDir
	needReopen                          // Harness.Reopen
	needQuota                           // Features.Quota
	needCase                            // Features.CaseSensitive
	needAtomic                          // Features.AtomicRename
	needRaceFree                        // Features.RaceFree
	needReadOnly                        // no Features.Write
	needFileReader                      // the optional interface
	needFileIntoReader                  // the optional interface
	needRemover                         // the optional interface
	needEntryReader                     // the optional interface
)

// needReader is what operations need that not every provider has a method for.
const needReader = needFileReader | needFileIntoReader

// probe is what the check of one requirement works with.
type probe struct {
	*trial
	h        Harness
	id       string
	needs    need
	inv      *invariants
	p        provider.Provider // the provider under test, recorded
	raw      provider.Provider // the provider under test
	features provider.Features
	hostDir  string
	setting  string // what a matrix has prepared, for the report
}

// examine runs the check of one requirement against a new provider of h.
func examine(t testing.TB, h Harness, r requirement[*probe], patience patience) outcome {
	t.Helper()
	tr := newTrial(t)
	c := &probe{trial: tr, h: h, id: r.id, needs: r.needs}
	return tr.run(r.statement, r.id, func() {
		c.prepare()
		r.check(c)
	}, patience)
}

// prepare makes the provider and ends the check if it does not apply.
func (c *probe) prepare() {
	if c.needs&needReadOnly == 0 && c.h.New == nil && c.needs&(needWrite|needInPlace) != 0 {
		c.skip("Features.Write is false")
	}
	if c.h.New != nil {
		c.renew()
	} else {
		c.use(c.newWith(map[string]string{"f": "content"}))
	}
	c.checkNeeds()
}

// renew replaces the provider by a new, empty one.
func (c *probe) renew() {
	var p provider.Provider
	c.test(func(t testing.TB) { p = c.h.New(t) })
	c.use(p)
}

// newWith asks the harness for a provider that holds files.
func (c *probe) newWith(files map[string]string) (p provider.Provider) {
	c.test(func(t testing.TB) { p = c.h.NewWith(t, files) })
	return p
}

// use makes p the provider under test.
func (c *probe) use(p provider.Provider) {
	if p == nil {
		c.failNow("the Harness returns a provider", "nil")
	}
	c.raw = p
	c.features = p.Features()
	if c.h.HostDir != nil {
		c.hostDir = c.h.HostDir(p)
	}
	c.inv = &invariants{tr: c.trial, own: c.id, known: c.h.Known, host: hostTexts(c.hostDir)}
	c.p = record(c.trial, p, c.inv)
}

// checkNeeds ends the check unless everything that the requirement needs is
// there.
func (c *probe) checkNeeds() {
	_, hasReader := c.raw.(provider.FileReader)
	_, hasInto := c.raw.(provider.FileIntoReader)
	for _, n := range []struct {
		need   need
		there  bool
		reason string
	}{
		{needWrite, c.features.Write, "Features.Write is false"},
		{needReadOnly, !c.features.Write, "Features.Write is true"},
		{needInPlace, c.features.Write && c.features.InPlace, "Features.InPlace is false"},
		{needChmod, c.features.Chmod, "Features.Chmod is false"},
		{needChtimes, c.features.Chtimes, "Features.Chtimes is false"},
		{needHostDir, c.hostDir != "", "the Harness has no HostDir"},
		{needPOSIX, c.hostDir != "" && canFIFO, "the Harness has no HostDir, or this platform no FIFOs"},
		{needLinks, c.h.Plant != nil || c.hostDir != "", "the Harness has neither Plant nor HostDir"},
		{needReopen, c.h.Reopen != nil, "the Harness has no Reopen"},
		{needQuota, c.features.Quota, "Features.Quota is false"},
		{needCase, c.features.CaseSensitive, "Features.CaseSensitive is false"},
		{needRaceFree, c.features.RaceFree, "Features.RaceFree is false"},
		{needFileReader, hasReader, "the provider has no FileReader"},
		{needFileIntoReader, hasInto, "the provider has no FileIntoReader"},
	} {
		if c.needs&n.need != 0 && !n.there {
			c.skip(n.reason)
		}
	}
	if c.needs&needRemover != 0 && !directoriesAre[provider.EntryRemover](c) {
		c.skip("the provider has no EntryRemover")
	}
	if c.needs&needEntryReader != 0 && !directoriesAre[provider.EntryReader](c) {
		c.skip("the provider has no EntryReader")
	}
}

// directoriesAre reports whether directories have an optional interface.
func directoriesAre[Interface any](c *probe) bool {
	root, err := c.raw.Open(c.ctx, provider.Path{}, provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		return false
	}
	defer root.Close()
	_, ok := root.(Interface)
	return ok
}

// host returns the path of the host that name has.
func (c *probe) host(name string) string {
	return filepath.Join(c.hostDir, filepath.FromSlash(name))
}

// plant makes a link at name, by the harness or in its HostDir.
func (c *probe) plant(target, name string) {
	c.calls.note(fmt.Sprintf("(%q is a link to %q)", name, target))
	if c.h.Plant != nil {
		c.test(func(t testing.TB) { c.h.Plant(t, c.raw, target, provider.MustPath(name)) })
		return
	}
	c.onHost(os.Symlink(filepath.FromSlash(target), c.host(name)))
}

// onHost ends the check when the suite itself failed at the host.
func (c *probe) onHost(err error) {
	if err == nil {
		return
	}
	if runtime.GOOS == "windows" && strings.Contains(err.Error(), "privilege") {
		c.skip("this account may not make symbolic links")
	}
	c.failNow("the suite can prepare the directory of the host", fmt.Sprint(err))
}
