//go:build !linux

package main

import "errors"

// keepDescriptors fails: bubblewrap only exists for Linux.
func keepDescriptors() error { return errors.New("bubblewrap needs Linux") }
