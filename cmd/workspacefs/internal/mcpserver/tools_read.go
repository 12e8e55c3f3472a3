package mcpserver

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/advice"
	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/listing"
	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/textedit"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// Limits of one answer, which a model has to read.
const (
	defaultLines = 2000
	maxText      = 256 << 10 // bytes of text in one answer
	maxLine      = 16 << 10  // bytes of one line
	maxBinary    = 8 << 20   // bytes of an image or another binary file
	maxEntries   = 1000      // entries of one listing
	sniffed      = 8 << 10   // a NUL in so many bytes makes a file binary, as in grep
)

func (s *Server) addReadTools() {
	tool(s, &mcp.Tool{
		Name:        "read_file",
		Description: "Read a file: text as numbered lines (a window of it with offset and limit), images and other binary files as such. The answer ends with the file's digest. Needed before write_file or edit_file on an existing file.",
		Annotations: readOnly("Read file"),
	}, readFile)
	tool(s, &mcp.Tool{
		Name:        "list_directory",
		Description: "List the entries of one directory: name, type and size. Directories end in \"/\", links in \"@\" (they are never followed).",
		Annotations: readOnly("List directory"),
	}, listDirectory)
	tool(s, &mcp.Tool{
		Name:        "tree",
		Description: "Show a directory and what lies below it as an indented tree.",
		Annotations: readOnly("Tree"),
	}, tree)
	tool(s, &mcp.Tool{
		Name:        "stat",
		Description: "Describe one file or directory: type, size, permission bits and modification time.",
		Annotations: readOnly("Stat"),
	}, stat)
	tool(s, &mcp.Tool{
		Name:        "explain",
		Description: "Say whether an operation on a path would be allowed, by which rule, and what would allow it. Changes nothing; the path need not exist: its name is judged, not what is there.",
		Annotations: readOnly("Explain a permission"),
	}, explain)
}

type readIn struct {
	Path   string `json:"path" jsonschema:"the file"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to show, from 1 (default 1)"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to show (default 2000)"`
}

func readFile(c *call, in readIn) (*mcp.CallToolResult, error) {
	data, digest, err := c.fs.ReadFile(in.Path)
	if err != nil {
		return nil, c.fail(in.Path, err)
	}
	mime := http.DetectContentType(data[:min(len(data), 512)])
	binary := bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0 || strings.HasPrefix(mime, "image/") && !utf8.Valid(data)
	if binary && len(data) > maxBinary {
		return nil, c.refuse(in.Path, "a binary file of %d bytes is more than the %d that one answer may hold", len(data), maxBinary)
	}
	c.remember(in.Path, digest, data)
	meta := map[string]any{"path": in.Path, "digest": digest.String(), "size": len(data)}
	if binary {
		return with(c.binary(in.Path, mime, data, digest.String()), meta), nil
	}
	w := window(data, max(in.Offset, 1), cmp.Or(in.Limit, defaultLines))
	meta["first_line"], meta["last_line"], meta["total_lines"] = w.first, w.last, w.total
	note := fmt.Sprintf("[lines %d-%d of %d, %d bytes, %s]", w.first, w.last, w.total, len(data), digest)
	if w.last < w.first {
		note = fmt.Sprintf("[no lines from %d on: %d lines, %d bytes, %s]", w.first, w.total, len(data), digest)
	}
	if more := w.total > w.last && w.last >= w.first; more {
		note += fmt.Sprintf("\n[more: read on with offset %d]", w.last+1)
	}
	switch ends := textedit.Endings(data); ends {
	case textedit.CRLF, textedit.Mixed:
		meta["line_endings"] = ends
		note += "\n[line endings: " + ends + "]"
	}
	if bytes.HasPrefix(data, bom) {
		note += "\n[starts with a byte order mark]"
	}
	if !utf8.Valid(data) {
		note += "\n[not valid UTF-8: what cannot be shown appears as \uFFFD; edit_file keeps those bytes]"
	}
	if w.cut {
		note += "\n[long lines were cut]"
	}
	return with(text(w.text, note), meta), nil
}

var bom = []byte("\xef\xbb\xbf")

// A textWindow is a part of a file as numbered lines.
type textWindow struct {
	text               string
	first, last, total int
	cut                bool
}

// window shows at most limit lines from line first, and no more than maxText
// bytes, but at least one line.
func window(data []byte, first, limit int) textWindow {
	w := textWindow{first: first, last: first - 1}
	var b strings.Builder
	for raw := range bytes.Lines(data) {
		w.total++
		if w.total == 1 {
			raw = bytes.TrimPrefix(raw, bom)
		}
		full := w.total != w.last+1 || w.total-first >= limit || b.Len() > 0 && b.Len()+min(len(raw), maxLine) > maxText
		if w.total < first || full {
			continue
		}
		shown := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
		if len(shown) > maxLine {
			shown, w.cut = cutRune(shown, maxLine), true
		}
		fmt.Fprintf(&b, "%6d\t%s\n", w.total, strings.ToValidUTF8(string(shown), "\uFFFD"))
		w.last = w.total
	}
	w.text = b.String()
	return w
}

// cutRune cuts at the last whole rune before n bytes.
func cutRune(b []byte, n int) []byte {
	for i := range utf8.UTFMax {
		if utf8.RuneStart(b[n-i]) {
			return b[:n-i]
		}
	}
	return b[:n]
}

// binary is the answer for what is not text.
func (c *call) binary(name, mime string, data []byte, digest string) *mcp.CallToolResult {
	note := &mcp.TextContent{Text: fmt.Sprintf("[%s, %d bytes, %s]", mime, len(data), digest)}
	var content mcp.Content
	switch {
	case strings.HasPrefix(mime, "image/"):
		content = &mcp.ImageContent{Data: data, MIMEType: mime}
	case strings.HasPrefix(mime, "audio/"):
		content = &mcp.AudioContent{Data: data, MIMEType: mime}
	default:
		content = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: c.uri(name), MIMEType: mime, Blob: data}}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{content, note}}
}

type listIn struct {
	Path string `json:"path,omitempty" jsonschema:"the directory (default: the working directory)"`
}

func listDirectory(c *call, in listIn) (*mcp.CallToolResult, error) {
	name := cmp.Or(in.Path, ".")
	dir, err := listing.Read(c.fs, name)
	if err != nil {
		return nil, c.fail(name, err)
	}
	var b strings.Builder
	for i, e := range dir.Entries {
		if i == maxEntries || b.Len() > maxText {
			fmt.Fprintf(&b, "[%d more entries: glob narrows the list]\n", len(dir.Entries)-i)
			break
		}
		b.WriteString(e.Name() + listing.Mark(e.Type()))
		if e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				fmt.Fprintf(&b, "\t%d", info.Size())
			}
		}
		b.WriteByte('\n')
	}
	switch note := dir.Note(); {
	case note != "":
		b.WriteString("[" + note + "]\n")
	case len(dir.Entries) == 0:
		b.WriteString("[empty]\n")
	}
	return with(text(b.String()), map[string]any{"entries": len(dir.Entries), "unspellable": dir.Unspellable}), nil
}

type treeIn struct {
	Path  string `json:"path,omitempty" jsonschema:"where to start (default: the working directory)"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many levels to show (default 3)"`
}

func tree(c *call, in treeIn) (*mcp.CallToolResult, error) {
	name, depth := cmp.Or(in.Path, "."), cmp.Or(in.Depth, 3)
	var b strings.Builder
	left := maxEntries
	b.WriteString(namespace.Quote(name) + "\n")
	if err := c.branch(&b, name, 1, depth, &left); err != nil {
		return nil, c.fail(name, err)
	}
	if left == 0 {
		fmt.Fprintf(&b, "[more than %d entries: start further down, or use glob]\n", maxEntries)
	}
	return text(b.String()), nil
}

// branch prints one directory. A directory below the start that cannot be read is
// said in place; its error does not end the tree.
func (c *call) branch(b *strings.Builder, name string, level, depth int, left *int) error {
	dir, err := listing.Read(c.fs, name)
	if err != nil {
		return err
	}
	for _, e := range dir.Entries {
		if *left == 0 {
			return nil
		}
		*left--
		b.WriteString(strings.Repeat("  ", level) + e.Name() + listing.Mark(e.Type()) + "\n")
		if e.IsDir() && level < depth {
			below := listing.Join(name, e.Name())
			if err := c.branch(b, below, level+1, depth, left); err != nil {
				b.WriteString(strings.Repeat("  ", level+1) + "[" + c.fail(below, err).Error() + "]\n")
			}
		}
	}
	if note := dir.Note(); note != "" {
		b.WriteString(strings.Repeat("  ", level) + "[" + note + "]\n")
	}
	return nil
}

type statIn struct {
	Path string `json:"path" jsonschema:"the file or directory"`
}

func stat(c *call, in statIn) (*mcp.CallToolResult, error) {
	info, _, err := c.fs.LstatIfPossible(in.Path)
	if err != nil {
		return nil, c.fail(in.Path, err)
	}
	kind := "file"
	switch m := info.Mode(); {
	case m.IsDir():
		kind = "directory"
	case m&fs.ModeSymlink != 0:
		kind = "link (never followed)"
	case !m.IsRegular():
		kind = "special file (cannot be opened)"
	}
	return with(text(fmt.Sprintf("%s: %s, %d bytes, mode %s, modified %s", namespace.Quote(in.Path), kind, info.Size(), info.Mode(), info.ModTime().UTC().Format(time.RFC3339))),
		map[string]any{"type": kind, "size": info.Size(), "mode": info.Mode().String(), "mod_time": info.ModTime().UTC()}), nil
}

type explainIn struct {
	Op   string `json:"op" jsonschema:"read, stat, list, create, write, remove, remove_tree or move_tree"`
	Path string `json:"path" jsonschema:"the file or directory; it need not exist"`
}

func explain(c *call, in explainIn) (*mcp.CallToolResult, error) {
	op, ok := advice.ParseOp(in.Op)
	if !ok {
		return nil, c.refuse(in.Path, "unknown operation %s: want one of %s", namespace.Quote(in.Op), advice.OpNames())
	}
	d := c.fs.Explain(op, in.Path)
	answer := fmt.Sprintf("%s %s would be allowed: %s", in.Op, namespace.Quote(in.Path), namespace.Quote(d.Rule))
	if !d.Allow {
		answer = fmt.Sprintf("%s %s would be refused: %s", in.Op, namespace.Quote(in.Path), namespace.Quote(d.Rule))
		if p, ok := c.canonical(in.Path); ok {
			if hint := c.advice.Allow(policyfs.Request{Op: op, Path: p}); hint != "" {
				answer += "; " + hint
			}
		}
	}
	return with(text(answer), map[string]any{"allow": d.Allow, "rule": d.Rule}), nil
}
