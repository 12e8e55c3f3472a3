package conformance

import (
	"crypto/sha256"

	"github.com/workspacefs/workspacefs/provider"
)

// digestOf is the digest that Replace must return for a content.
func digestOf(content string) provider.Digest { return sha256.Sum256([]byte(content)) }
