package provider_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/workspacefs/workspacefs/provider"
)

// A Path is checked once, by the function that makes it.
func ExampleParsePath() {
	p, err := provider.ParsePath("src/main.go")
	fmt.Println(p, p.Parent(), p.Base(), err)
	for _, name := range []string{"", "/etc/passwd", "src/../../x", `src\main.go`} {
		_, err := provider.ParsePath(name)
		fmt.Println(errors.Is(err, provider.ErrPath), errors.Is(err, fs.ErrInvalid))
	}
	// Output:
	// src/main.go src main.go <nil>
	// true true
	// true true
	// true true
	// true true
}

// The flags of package os as options of Open.
func ExampleParseFlag() {
	opts, err := provider.ParseFlag(os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	fmt.Println(opts.Read, opts.Write, opts.Create, opts.Exclusive, opts.Perm, err)
	// Output: false true true true -rw------- <nil>
}
