package policyfs

import (
	"fmt"
	"reflect"

	"github.com/workspacefs/workspacefs/namespace"
)

// Op is what an operation wants to do with one path. The zero Op is never
// allowed.
type Op uint8

const (
	// OpRead reads the content of a file or the whole listing of a directory.
	OpRead Op = iota + 1
	// OpStat learns that a path exists, and its type, size and times.
	OpStat
	// OpList opens a directory of which only a part may be seen.
	OpList
	// OpCreate makes a file or directory that was not there.
	OpCreate
	// OpWrite changes a file's content, or the attributes of anything.
	OpWrite
	// OpRemove removes a file, a link or an empty directory.
	OpRemove
	// OpRemoveTree removes a directory with everything below it. Each descendant
	// is asked for OpRemove besides.
	OpRemoveTree
	// OpMoveTree moves a directory with everything below it, existing or not. It
	// is asked at both ends of a move.
	OpMoveTree

	opEnd
)

var opNames = [opEnd]string{
	OpRead: "read", OpStat: "stat", OpList: "list", OpCreate: "create", OpWrite: "write",
	OpRemove: "remove", OpRemoveTree: "remove_tree", OpMoveTree: "move_tree",
}

// String returns the name of op as it stands in errors and audit records.
func (op Op) String() string {
	if !op.known() {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return opNames[op]
}

// known reports whether op is one of the operations above.
func (op Op) known() bool { return 0 < op && op < opEnd }

// Request asks for one operation on one path.
type Request struct {
	// Op is the operation; the zero Op is never allowed.
	Op Op
	// Path is the canonical path of the object; the unset Path is never allowed.
	Path namespace.Path
}

// Decision answers a [Request]. The zero Decision denies.
type Decision struct {
	// Allow says that the operation may go on.
	Allow bool
	// Rule is what decided, in the words of the [Spec]: `deny_write
	// "generated/locked"`, `hidden`, `no allow_read covers it`.
	Rule string
}

// Policy decides requests.
//
// Check must be a pure function of the request: no I/O, no clock, the same answer
// each time, safe for concurrent use. It must deny an [Op] it does not know, and
// has to answer [OpMoveTree] itself: whether a directory may move with everything
// below it, what is there and what is not. This package asks through a guard that
// takes a nil policy, a panic, an unknown Op and the unset Path for a denial.
type Policy interface {
	// Check decides one request.
	Check(Request) Decision
}

// The rules of denials that no Spec decided.
const (
	textNoPolicy  = "no policy"
	textPanic     = "the policy panicked"
	textUnknownOp = "unknown operation"
	textNoPath    = "no path"
	textCustom    = "refused by a custom policy"
)

// check is the only way in which this package asks a policy. It denies where p
// cannot answer, and a denial always bears a rule.
func check(p Policy, r Request) Decision { return decide(p, r.Op, r.Path) }

// decide is check with the request in its parts, which travel in registers: for
// the calls that every operation makes.
func decide(p Policy, op Op, at namespace.Path) Decision {
	switch p := p.(type) {
	case *compiled:
		if p != nil {
			return p.decide(op, at)
		}
	case *composed:
		if p != nil {
			return p.decide(op, at)
		}
	}
	return checkCustom(p, Request{op, at})
}

// checkCustom asks a policy that this package did not make.
func checkCustom(p Policy, r Request) (d Decision) {
	switch {
	case isNil(p):
		return Decision{Rule: textNoPolicy}
	case !r.Op.known():
		return Decision{Rule: textUnknownOp}
	case r.Path == namespace.Path{}:
		return Decision{Rule: textNoPath}
	}
	defer func() {
		if recover() != nil {
			d = Decision{Rule: textPanic}
		}
	}()
	d = p.Check(r)
	if !d.Allow && d.Rule == "" {
		d.Rule = textCustom
	}
	return d
}

// isNil reports whether p is nil or an interface around a nil value. A nil map or
// slice may well be a working policy, but it is also what a forgotten
// initialisation leaves behind, so it denies too.
func isNil(p Policy) bool {
	if p == nil {
		return true
	}
	switch v := reflect.ValueOf(p); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
