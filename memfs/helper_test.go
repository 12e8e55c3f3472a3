package memfs_test

import (
	"crypto/sha256"

	"github.com/workspacefs/workspacefs/provider"
)

func digest(data []byte) provider.Digest { return sha256.Sum256(data) }
