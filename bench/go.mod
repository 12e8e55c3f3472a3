module github.com/workspacefs/workspacefs/bench

go 1.26.5

require (
	github.com/avfs/avfs v0.35.0
	github.com/go-git/go-billy/v5 v5.9.2
	github.com/hack-pad/hackpadfs v0.2.4
	github.com/spf13/afero v1.15.0
	github.com/workspacefs/workspacefs v0.0.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/workspacefs/workspacefs => ..
