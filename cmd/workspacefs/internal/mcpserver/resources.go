package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// scheme is that of resource URIs: workspacefs:///workspace/src/x.go.
const scheme = "workspacefs"

// Limits of the resource listing: entries of a page, and of all pages together.
const (
	resourcePage  = 500
	resourceLimit = 10_000
)

// uri names a file as a resource.
func (c *call) uri(name string) string {
	p, ok := c.canonical(name)
	if !ok {
		return ""
	}
	return resourceURI(p)
}

func resourceURI(p namespace.Path) string {
	return (&url.URL{Scheme: scheme, Path: p.String()}).String()
}

// addResources offers every file that a session may read as a resource.
func (s *Server) addResources() {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "file", Title: "File of the workspace", URITemplate: scheme + "://{+path}",
		Description: "Any file that the policy lets you read.",
	}, s.readResource)
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.ListResourcesRequest); ok {
				return s.listResources(ctx, r)
			}
			return next(ctx, method, req)
		}
	})
}

// listResources pages through the permitted files in order of their paths. The
// cursor is the last path of the page before.
func (s *Server) listResources(ctx context.Context, req *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	res := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
	if s.audit.Failed() {
		return nil, errAudit
	}
	v, err := s.session(req.Session).view(ctx)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	visited := 0
	for e, err := range v.fs.Walk("/", policyfs.WalkOptions{}) {
		if visited++; visited > resourceLimit {
			return res, nil
		}
		if err != nil || !e.DirEntry.Type().IsRegular() || e.Path.String() <= cursor {
			continue
		}
		if len(res.Resources) == resourcePage {
			res.NextCursor = cursorOf(res.Resources[resourcePage-1].URI)
			return res, nil
		}
		r := &mcp.Resource{URI: resourceURI(e.Path), Name: s.ns.Display(e.Path), MIMEType: mime.TypeByExtension(path.Ext(e.Path.Base()))}
		if info, err := e.DirEntry.Info(); err == nil {
			r.Size = info.Size()
		}
		res.Resources = append(res.Resources, r)
	}
	return res, nil
}

// cursorOf is the agent path of a resource.
func cursorOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != scheme || u.Host != "" {
		return ""
	}
	return u.Path
}

// readResource reads one file. The protocol has no tool errors here: what may not
// be seen does not exist.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name := cursorOf(req.Params.URI)
	if name == "" {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	s.calls.Add(1)
	defer s.calls.Done()
	if s.audit.Failed() {
		return nil, errAudit
	}
	sess := s.session(req.Session)
	v, err := sess.view(ctx)
	if err != nil {
		return nil, err
	}
	data, digest, err := v.fs.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid):
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	case err != nil:
		return nil, errors.New(s.advice.Refusal("read", name, err).String())
	case len(data) > maxBinary:
		return nil, errors.New("the file is larger than a resource may be; read_file shows it in windows")
	}
	if t, err := s.ns.Resolve(v.dir, name); err == nil {
		sess.known.put(t.Path, digest, data)
	}
	contents := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: http.DetectContentType(data[:min(len(data), 512)])}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		contents.Text = string(data)
	} else {
		contents.Blob = data
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}
