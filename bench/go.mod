module github.com/workspacefs/workspacefs/bench

go 1.26.5

require github.com/workspacefs/workspacefs v0.0.0

replace github.com/workspacefs/workspacefs => ..
