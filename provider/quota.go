package provider

import "syscall"

// quotaErrno is the errno that ErrQuota also is.
const quotaErrno = syscall.EDQUOT
