package conformance

import (
	"fmt"
	"sync"
	"time"
)

// maxLines is how many calls a report shows: the last ones matter.
const maxLines = 40

// callLog keeps the last calls and knows which ones have not returned.
type callLog struct {
	mu      sync.Mutex // guards what follows
	frozen  bool
	dropped int
	calls   []*call
	running map[*call]struct{}
	files   int   // numbers the Files
	quiet   int   // calls that only look at the tree are not kept
	looking *call // the last of them
}

// call is one call of a method.
type call struct {
	text   string
	result string
	start  time.Time
	done   bool
	note   bool
}

// line renders a call.
func (c *call) line() string {
	switch {
	case c.note:
		return c.text
	case c.done:
		return c.text + " = " + c.result
	}
	return c.text + " has not returned"
}

// begin notes a call; the returned function notes what it returned.
func (l *callLog) begin(format string, args ...any) (end func(result string)) {
	c := &call{text: fmt.Sprintf(format, args...), start: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = map[*call]struct{}{}
	}
	l.running[c] = struct{}{}
	switch {
	case l.frozen:
	case l.quiet > 0:
		l.looking = c
	default:
		l.looking = nil
		if len(l.calls) == maxLines {
			l.calls = append(l.calls[:0], l.calls[1:]...)
			l.dropped++
		}
		l.calls = append(l.calls, c)
	}
	return func(result string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, c)
		if !l.frozen {
			c.result, c.done = result, true
		}
	}
}

// clear forgets what was called so far: a new case begins.
func (l *callLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.frozen {
		l.calls, l.dropped, l.looking = nil, 0, nil
	}
}

// note adds a line that is no call: what is there, and was not made by one.
func (l *callLog) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.frozen && l.quiet == 0 {
		l.calls = append(l.calls, &call{text: text, note: true})
	}
}

// look begins calls that only compare the tree with what it should be: a report
// shows the last of them if it is the one that failed.
func (l *callLog) look() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.quiet--
		if !l.frozen {
			l.looking = nil
		}
	}
}

// freeze keeps the log as it is at the moment of the first failure.
func (l *callLog) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = true
}

// nextFile numbers a File for the log.
func (l *callLog) nextFile() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files++
	return l.files
}

// oldestRunning returns the call that has been running for longest, and since
// when; "" when none is.
func (l *callLog) oldestRunning() (string, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest *call
	for c := range l.running {
		if oldest == nil || c.start.Before(oldest.start) {
			oldest = c
		}
	}
	if oldest == nil {
		return "", time.Time{}
	}
	return oldest.text, oldest.start
}

// lines renders the log.
func (l *callLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	if l.dropped > 0 {
		lines = append(lines, fmt.Sprintf("... %d calls before these", l.dropped))
	}
	for _, c := range l.calls {
		lines = append(lines, c.line())
	}
	if l.looking != nil {
		lines = append(lines, l.looking.line())
	}
	return lines
}
