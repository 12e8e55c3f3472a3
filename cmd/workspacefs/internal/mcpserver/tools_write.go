package mcpserver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/textedit"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

func (s *Server) addWriteTools() {
	tool(s, &mcp.Tool{
		Name:        "write_file",
		Description: "Write a whole file, atomically. A new file needs nothing; an existing one must have been read in this session and be unchanged since. The directory must exist.",
		Annotations: changing("Write file", true, true),
	}, writeFile)
	tool(s, &mcp.Tool{
		Name:        "edit_file",
		Description: "Replace exact text in a file that was read in this session: the one occurrence, or all with replace_all. Everything else keeps its bytes: line endings, byte order mark, invalid UTF-8 and mode. dry_run returns the change as a unified diff instead of making it.",
		Annotations: changing("Edit file", true, false),
	}, editFile)
	tool(s, &mcp.Tool{
		Name:        "make_directory",
		Description: "Make a directory, with missing parents. One that exists is no error.",
		Annotations: changing("Make directory", false, true),
	}, makeDirectory)
	tool(s, &mcp.Tool{
		Name:        "move",
		Description: "Move or rename a file or directory. Nothing is overwritten, unless overwrite is set and the file at the destination was read in this session and is unchanged since.",
		Annotations: changing("Move", true, false),
	}, move)
	tool(s, &mcp.Tool{
		Name:        "remove",
		Description: "Remove a file or an empty directory; with recursive a directory and everything below it, if the policy allows recursive delete. A link itself is removed, not what it points to.",
		Annotations: changing("Remove", true, true),
	}, remove)
}

type writeIn struct {
	Path     string  `json:"path" jsonschema:"the file"`
	Content  string  `json:"content" jsonschema:"the whole new content"`
	Encoding string  `json:"encoding,omitempty" jsonschema:"text (default) or base64"`
	Digest   *string `json:"expected_digest,omitempty" jsonschema:"write only over content with this digest, as read_file told it"`
}

func writeFile(c *call, in writeIn) (*mcp.CallToolResult, error) {
	data := []byte(in.Content)
	switch in.Encoding {
	case "", "text":
	case "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return nil, c.refuse(in.Path, "the content is not base64")
		}
	default:
		return nil, c.refuse(in.Path, "encoding must be text or base64")
	}
	// A refusal by policy comes before anything that tells what is there.
	if err := c.fs.Authorize(policyfs.OpWrite, in.Path); err != nil {
		return nil, c.fail(in.Path, err)
	}
	c.writes.RLock()
	defer c.writes.RUnlock()
	condition, err := c.condition(in.Path, in.Digest)
	if err != nil {
		return nil, err
	}
	digest, err := c.fs.WriteFile(in.Path, data, provider.ReplaceOptions{If: condition})
	if err != nil {
		return nil, c.conflict(in.Path, condition, err)
	}
	c.remember(in.Path, digest, data)
	verb := "wrote"
	if condition.Absent() {
		verb = "created"
	}
	return with(text(fmt.Sprintf("%s %s, %d bytes, %s", verb, namespace.Quote(in.Path), len(data), digest)),
		map[string]any{"digest": digest.String(), "size": len(data)}), nil
}

// condition is what an overwrite requires: the content that this session last
// saw, or that nothing is there. A digest that the caller names must be that of
// what the session last saw.
func (c *call) condition(name string, expected *string) (provider.Condition, error) {
	var seen seen
	var known bool
	if p, ok := c.canonical(name); ok {
		seen, known = c.session.known.get(p)
	}
	if expected != nil {
		digest, err := provider.ParseDigest(*expected)
		if err != nil {
			return provider.Condition{}, c.refuse(name, "expected_digest is not a digest; read_file tells it as sha256:...")
		}
		if !known {
			return provider.Condition{}, c.refuse(name, "conflict: expected_digest is of a file that this session has not read; read_file first, or leave it out to create a new file")
		}
		if seen.digest != digest {
			return provider.Condition{}, c.refuse(name, "conflict: expected_digest is not what this session last read of the file; read it again")
		}
	}
	if known {
		return provider.IfMatch(seen.digest), nil
	}
	return provider.IfAbsent(), nil
}

// conflict explains a write that failed: if its condition does not hold, with
// what changed.
func (c *call) conflict(name string, condition provider.Condition, err error) error {
	digest, matching := condition.Match()
	switch {
	case errors.Is(err, provider.ErrConflict) && condition.Absent():
		if info, _, err := c.fs.LstatIfPossible(name); err == nil && !info.Mode().IsRegular() {
			return c.fail(name, notFile(info)) // read_file cannot help
		}
		return c.refuse(name, "conflict: it exists and this session has not read it; read_file first, then %s", c.tool)
	case errors.Is(err, provider.ErrConflict) && matching:
		return c.refuse(name, "conflict: it changed since this session read it; read_file again, then repeat the change on what it holds now%s", c.changed(name, digest))
	case errors.Is(err, fs.ErrNotExist) && matching:
		if p, ok := c.canonical(name); ok {
			c.session.known.forget(p)
		}
		return c.refuse(name, "conflict: it was removed since this session read it; write_file again creates it anew")
	}
	return c.fail(name, err)
}

// notFile is the error of a file operation on anything else.
func notFile(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode()&fs.ModeSymlink != 0:
		return provider.ErrSymlink
	}
	return provider.ErrIrregular
}

// changed describes how a file differs from what the session knows.
func (c *call) changed(name string, known provider.Digest) string {
	now, digest, err := c.fs.ReadFile(name)
	if err != nil {
		return ""
	}
	s := fmt.Sprintf(" (it was %s, it is %s, %d bytes)", known, digest, len(now))
	p, ok := c.canonical(name)
	if !ok {
		return s
	}
	old, ok := c.session.known.get(p)
	if !ok || old.content == nil || len(now) > maxKeptFile {
		return s
	}
	return s + "\nWhat changed:\n" + strings.ToValidUTF8(difference(old.content, now), "\uFFFD")
}

type editIn struct {
	Path       string `json:"path" jsonschema:"the file"`
	OldText    string `json:"old_text" jsonschema:"the exact text to replace, without line numbers; enough of it to be unique"`
	NewText    string `json:"new_text" jsonschema:"what comes in its place, taken literally"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	DryRun     bool   `json:"dry_run,omitempty" jsonschema:"show the change and make none"`
}

func editFile(c *call, in editIn) (*mcp.CallToolResult, error) {
	op := policyfs.OpWrite
	if in.DryRun {
		op = policyfs.OpRead
	}
	if err := c.fs.Authorize(op, in.Path); err != nil {
		return nil, c.fail(in.Path, err)
	}
	c.writes.RLock()
	defer c.writes.RUnlock()
	data, digest, err := c.fs.ReadFile(in.Path)
	if err != nil {
		return nil, c.fail(in.Path, err)
	}
	condition, err := c.condition(in.Path, nil)
	if err != nil {
		return nil, err
	}
	if condition.Absent() {
		return nil, c.conflict(in.Path, condition, provider.ErrConflict)
	}
	if d, _ := condition.Match(); d != digest {
		return nil, c.conflict(in.Path, condition, provider.ErrConflict)
	}
	edited, err := textedit.Apply(data, textedit.Edit{Old: in.OldText, New: in.NewText, All: in.ReplaceAll})
	if err != nil {
		return nil, c.refuse(in.Path, "%v%s", err, adviceFor(err))
	}
	diff := strings.ToValidUTF8(edited.Diff(diffName(in.Path)), "\uFFFD")
	if in.DryRun {
		return with(text(diff), map[string]any{"replacements": edited.Count, "dry_run": true}), nil
	}
	if digest, err = c.fs.WriteFile(in.Path, edited.Content, provider.ReplaceOptions{If: condition}); err != nil {
		return nil, c.conflict(in.Path, condition, err)
	}
	c.remember(in.Path, digest, edited.Content)
	return with(text(diff, fmt.Sprintf("[replaced %d, %d bytes, %s]", edited.Count, len(edited.Content), digest)),
		map[string]any{"digest": digest.String(), "replacements": edited.Count, "size": len(edited.Content)}), nil
}

// adviceFor says what to do about an edit that does not apply.
func adviceFor(err error) string {
	var absent *textedit.AbsentError
	var ambiguous *textedit.AmbiguousError
	switch {
	case errors.As(err, &absent):
		return "; copy it from read_file, without the line numbers and with its blanks"
	case errors.As(err, &ambiguous):
		return "; take in more of the lines around the place you mean, or set replace_all"
	case errors.Is(err, textedit.ErrEmpty):
		return "; write_file replaces the whole content"
	}
	return ""
}

func diffName(name string) string { return strings.TrimPrefix(namespace.Quote(name), "/") }

type directoryIn struct {
	Path string `json:"path" jsonschema:"the directory"`
}

func makeDirectory(c *call, in directoryIn) (*mcp.CallToolResult, error) {
	if err := c.fs.MkdirAll(in.Path, 0o755); err != nil {
		return nil, c.fail(in.Path, err)
	}
	return text("directory " + namespace.Quote(in.Path) + " exists"), nil
}

type moveIn struct {
	Source      string  `json:"source" jsonschema:"what to move"`
	Destination string  `json:"destination" jsonschema:"its new path with the name, also where the destination is a directory"`
	Overwrite   bool    `json:"overwrite,omitempty" jsonschema:"replace the file at the destination"`
	Digest      *string `json:"expected_digest,omitempty" jsonschema:"with overwrite: replace only content with this digest"`
}

func move(c *call, in moveIn) (*mcp.CallToolResult, error) {
	opts := provider.RenameOptions{NoReplace: true}
	if in.Overwrite {
		c.writes.Lock()
		defer c.writes.Unlock()
		exists, err := c.mayOverwrite(in)
		if err != nil {
			return nil, err
		}
		opts.NoReplace = !exists
	} else {
		c.writes.RLock()
		defer c.writes.RUnlock()
	}
	if err := c.fs.Move(in.Source, in.Destination, opts); err != nil {
		return nil, c.fail(in.Source, err)
	}
	from, ok1 := c.canonical(in.Source)
	to, ok2 := c.canonical(in.Destination)
	if ok1 && ok2 {
		moved, known := c.session.known.get(from)
		c.session.known.forget(from)
		c.session.known.forget(to)
		if known {
			c.session.known.put(to, moved.digest, moved.content)
		}
	}
	return text("moved " + namespace.Quote(in.Source) + " to " + namespace.Quote(in.Destination)), nil
}

// mayOverwrite checks that what is at the destination is what the session last
// read there. It reports whether something is there; the caller holds writes, so
// no other session of this server changes it before the move.
func (c *call) mayOverwrite(in moveIn) (exists bool, err error) {
	if err := c.fs.Authorize(policyfs.OpWrite, in.Destination); err != nil {
		return false, c.fail(in.Destination, err)
	}
	condition, err := c.condition(in.Destination, in.Digest)
	if err != nil {
		return false, err
	}
	if _, _, err := c.fs.LstatIfPossible(in.Destination); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	_, digest, err := c.fs.ReadFile(in.Destination)
	if err != nil {
		return false, c.fail(in.Destination, err)
	}
	if d, ok := condition.Match(); !ok || d != digest {
		return false, c.conflict(in.Destination, condition, provider.ErrConflict)
	}
	return true, nil
}

type removeIn struct {
	Path      string `json:"path" jsonschema:"what to remove"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"a directory with everything below it"`
}

func remove(c *call, in removeIn) (*mcp.CallToolResult, error) {
	c.writes.RLock()
	defer c.writes.RUnlock()
	if err := c.remove(in); err != nil {
		return nil, c.fail(in.Path, err)
	}
	if p, ok := c.canonical(in.Path); ok {
		c.session.known.forget(p)
	}
	return text("removed " + namespace.Quote(in.Path)), nil
}

func (c *call) remove(in removeIn) error {
	if !in.Recursive {
		return c.fs.Remove(in.Path)
	}
	// A link is removed as without recursive: RemoveAll judges it.
	if err := c.fs.Authorize(policyfs.OpRemove, in.Path); err != nil && !errors.Is(err, provider.ErrSymlink) {
		return err
	}
	if _, _, err := c.fs.LstatIfPossible(in.Path); errors.Is(err, os.ErrNotExist) {
		return err
	}
	return c.fs.RemoveAll(in.Path)
}
