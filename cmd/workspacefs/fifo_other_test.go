//go:build !unix

package main

import "testing"

func mkfifo(t *testing.T, name string) { t.Helper() }
