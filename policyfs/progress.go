package policyfs

import "time"

// Progress counts what a walk or a search has visited so far. Only permitted
// files count, so it tells nothing about others.
type Progress struct {
	// Files are the files visited, skipped ones included.
	Files int64
	// Bytes are the bytes searched; a walk does not know them, and leaves 0.
	Bytes int64
}

// progressInterval is the shortest time between two reports, ten a second.
const progressInterval = 100 * time.Millisecond

// progressMeter reports to a callback, no more often than progressInterval after
// the beginning or the last report. It belongs to one goroutine.
type progressMeter struct {
	report func(Progress)
	last   time.Time
	total  Progress
}

// newProgressMeter starts the clock. A nil report makes a meter that only counts.
func newProgressMeter(report func(Progress)) progressMeter {
	m := progressMeter{report: report}
	if report != nil {
		m.last = time.Now()
	}
	return m
}

// add counts, and reports when it is time.
func (m *progressMeter) add(files, bytes int64) {
	m.total.Files += files
	m.total.Bytes += bytes
	m.tick()
}

// tick reports when it is time.
func (m *progressMeter) tick() {
	if m.report == nil {
		return
	}
	if now := time.Now(); now.Sub(m.last) >= progressInterval {
		m.last = now
		m.report(m.total)
	}
}

// end reports the totals.
func (m *progressMeter) end() {
	if m.report != nil {
		m.report(m.total)
	}
}
