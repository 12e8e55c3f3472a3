package policyfs

// Progress counts what a walk or search has visited so far. Only permitted files
// count.
type Progress struct {
	Files, Bytes int64
}
