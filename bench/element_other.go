//go:build !linux

package main

import (
	"fmt"

	"github.com/workspacefs/workspacefs/diskfs"
)

// walking: the element walk is Linux's alone.
func walking(string) (*diskfs.FS, error) { return nil, fmt.Errorf("openat2: %w", errSkip) }
