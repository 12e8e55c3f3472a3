package advice

import (
	"strings"

	"github.com/workspacefs/workspacefs/policyfs"
)

// Ops are the operations that can be asked about, in the order of tables.
func Ops() []policyfs.Op {
	return []policyfs.Op{
		policyfs.OpRead, policyfs.OpStat, policyfs.OpList, policyfs.OpCreate,
		policyfs.OpWrite, policyfs.OpRemove, policyfs.OpRemoveTree, policyfs.OpMoveTree,
	}
}

// ParseOp is the operation of a name; hyphens may stand for the underscores.
func ParseOp(name string) (policyfs.Op, bool) {
	for _, op := range Ops() {
		if op.String() == strings.ReplaceAll(name, "-", "_") {
			return op, true
		}
	}
	return 0, false
}

// OpNames lists the names of Ops.
func OpNames() string {
	var names []string
	for _, op := range Ops() {
		names = append(names, op.String())
	}
	return strings.Join(names, ", ")
}
