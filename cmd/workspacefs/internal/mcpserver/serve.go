package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// Limits of the transports.
const (
	maxMessage      = 64 << 20 // bytes of one message
	maxRequests     = 64       // requests served at once
	maxStreams      = 64       // event streams open at once
	maxSessions     = 64
	sessionIdle     = 30 * time.Minute
	headerTimeout   = 10 * time.Second
	shutdownTimeout = 5 * time.Second
	minToken        = 16 // bytes
)

// ServeStdio serves one client over a pair of streams until it goes away or ctx
// ends. A line that is no message is answered with an error, and the session goes
// on. Running tool calls are waited for, a few seconds at most.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &lineTransport{in: in, out: out, limit: maxMessage, logger: s.logger})
	s.wait(shutdownTimeout)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mcp: messages of the client: %w", err)
	}
	return nil
}

// Listen opens a loopback address. Others are refused: the token would travel in
// the clear.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !loopbackHost(host) {
		return nil, fmt.Errorf("%q is not a loopback address; to serve other machines put a proxy with TLS in front", address)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// ServeHTTP serves clients that know the token until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	handler, err := s.Handler(token)
	if err != nil {
		l.Close()
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// Event streams only end with their sessions.
	for ss := range s.mcp.Sessions() {
		ss.Close()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err = server.Shutdown(grace)
	s.wait(shutdownTimeout)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// Handler serves streamable HTTP. A request must come with a loopback Host, no
// Origin but its own, and the token.
func (s *Server) Handler(token string) (http.Handler, error) {
	if len(token) < minToken {
		return nil, fmt.Errorf("the bearer token must have at least %d bytes", minToken)
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Logger: s.logger, SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxMessage,
	})
	user := userID(token)
	verify := func(_ context.Context, given string, _ *http.Request) (*auth.TokenInfo, error) {
		if !sameToken(given, token) {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: user}, nil // the transport binds sessions to it
	}
	authorized := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(s.limit(inner))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := foreign(r); reason != "" {
			http.Error(w, reason, http.StatusForbidden)
			return
		}
		// The decoder would change what is not UTF-8 in silence.
		r.Body = struct {
			io.Reader
			io.Closer
		}{transform.NewReader(r.Body, encoding.UTF8Validator), r.Body}
		authorized.ServeHTTP(w, r)
	}), nil
}

// sameToken compares in a time that depends on neither token.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// userID names the holder of a token, in this process only.
func userID(token string) string {
	salt := rand.Text()
	sum := sha256.Sum256([]byte(salt + token))
	return hex.EncodeToString(sum[:])
}

// foreign says why a request may come from a page in a browser, or "": a name
// that was rebound to the loopback interface shows in Host, a page in Origin.
func foreign(r *http.Request) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if !loopbackHost(strings.Trim(host, "[]")) {
		return "the Host header is not a loopback address"
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return ""
	}
	u, err := url.Parse(origins[0])
	if len(origins) > 1 || err != nil || u.Scheme != "http" || !strings.EqualFold(u.Host, r.Host) {
		return "the Origin is foreign"
	}
	return ""
}

// loopbackHost reports whether host is a loopback address or localhost. No name
// is looked up.
func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// limit bounds what is served at once. Streams, which stay open, have a bound of
// their own, so that they cannot use up the requests.
func (s *Server) limit(next http.Handler) http.Handler {
	requests, streams := make(chan struct{}, maxRequests), make(chan struct{}, maxStreams)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slots := requests
		if r.Method == http.MethodGet {
			slots = streams
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && s.countSessions() >= maxSessions {
			http.Error(w, "too many sessions", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) countSessions() int {
	n := 0
	for range s.mcp.Sessions() {
		n++
	}
	return n
}
