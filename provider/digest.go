package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

// Digest is the SHA-256 of a file's whole content.
type Digest [sha256.Size]byte

const digestPrefix = "sha256:"

// String returns "sha256:" and 64 lower-case hexadecimal digits.
func (d Digest) String() string { return digestPrefix + hex.EncodeToString(d[:]) }

// ParseDigest reads what [Digest.String] writes, and nothing else; other text
// is an error that is [fs.ErrInvalid].
func ParseDigest(s string) (Digest, error) {
	var d Digest
	digits, ok := strings.CutPrefix(s, digestPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(d)) || strings.ContainsAny(digits, "ABCDEF") {
		return Digest{}, fmt.Errorf("digest: want %q and %d lower-case hexadecimal digits: %w", digestPrefix, hex.EncodedLen(len(d)), fs.ErrInvalid)
	}
	if _, err := hex.Decode(d[:], []byte(digits)); err != nil {
		return Digest{}, fmt.Errorf("digest: not hexadecimal: %w", fs.ErrInvalid)
	}
	return d, nil
}

// Condition is what must hold at the moment of a [Provider.Replace]. The zero
// Condition always holds. Conditions are comparable.
type Condition struct {
	kind   conditionKind
	digest Digest
}

type conditionKind uint8

const (
	conditionNone conditionKind = iota
	conditionAbsent
	conditionMatch
)

// IfAbsent holds when nothing is at the name. Over anything, links and
// directories included, the Replace is [ErrConflict].
func IfAbsent() Condition { return Condition{kind: conditionAbsent} }

// IfMatch holds when a regular file is at the name and its content has the
// digest d, which is what the caller read. A missing name is
// [fs.ErrNotExist], other content [ErrConflict].
func IfMatch(d Digest) Condition { return Condition{kind: conditionMatch, digest: d} }

// Absent reports whether c is [IfAbsent].
func (c Condition) Absent() bool { return c.kind == conditionAbsent }

// Match returns the digest of [IfMatch], and whether c is one.
func (c Condition) Match() (Digest, bool) { return c.digest, c.kind == conditionMatch }
