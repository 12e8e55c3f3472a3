//go:build amd64 && !purego

#include "textflag.h"

// func pairIndexAVX2(p *byte, n, dist int, b1, m1, b2, m2 byte) int
//
// Each step looks at 64 positions: at 32 bytes, and at the 32 bytes dist behind
// them, twice.
TEXT ·pairIndexAVX2(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ dist+16(FP), DX
	VPBROADCASTB b1+24(FP), Y0
	VPBROADCASTB m1+25(FP), Y1
	VPBROADCASTB b2+26(FP), Y2
	VPBROADCASTB m2+27(FP), Y3
	ADDQ SI, DX
	XORQ AX, AX
	MOVQ CX, R8
	ANDQ $-64, R8
	JZ   rest

loop:
	VPOR      (SI)(AX*1), Y1, Y4
	VPOR      (DX)(AX*1), Y3, Y5
	VPOR      32(SI)(AX*1), Y1, Y6
	VPOR      32(DX)(AX*1), Y3, Y7
	VPCMPEQB  Y0, Y4, Y4
	VPCMPEQB  Y2, Y5, Y5
	VPCMPEQB  Y0, Y6, Y6
	VPCMPEQB  Y2, Y7, Y7
	VPAND     Y4, Y5, Y4
	VPAND     Y6, Y7, Y6
	VPOR      Y4, Y6, Y8
	VPTEST    Y8, Y8
	JNZ       found
	ADDQ      $64, AX
	CMPQ      AX, R8
	JLT       loop

rest:
	CMPQ      AX, CX
	JGE       none
	VPOR      (SI)(AX*1), Y1, Y4
	VPOR      (DX)(AX*1), Y3, Y5
	VPCMPEQB  Y0, Y4, Y4
	VPCMPEQB  Y2, Y5, Y5
	VPAND     Y4, Y5, Y4
	VPMOVMSKB Y4, BX
	TESTL     BX, BX
	JZ        none
	BSFL      BX, BX
	ADDQ      BX, AX
	VZEROUPPER
	MOVQ      AX, ret+32(FP)
	RET

found:
	VPMOVMSKB Y4, BX
	VPMOVMSKB Y6, R9
	SHLQ      $32, R9
	ORQ       R9, BX
	BSFQ      BX, BX
	ADDQ      BX, AX
	VZEROUPPER
	MOVQ      AX, ret+32(FP)
	RET

none:
	VZEROUPPER
	MOVQ $-1, AX
	MOVQ AX, ret+32(FP)
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() (a uint32)
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, a+0(FP)
	RET
