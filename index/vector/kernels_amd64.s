#include "textflag.h"

// func dotAVX2(a, b *int8, n int) int32
// n is a positive multiple of 32. Bytes are widened to words, multiplied and added in pairs to eight lanes
// of 32 bits in each of two registers: a pair is at most 2·128·128, so that 65,536 pairs fit a lane.
TEXT ·dotAVX2(SB), NOSPLIT, $0-28
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

loop:
	VPMOVSXBW (SI), Y2
	VPMOVSXBW (DI), Y3
	VPMOVSXBW 16(SI), Y4
	VPMOVSXBW 16(DI), Y5
	VPMADDWD  Y2, Y3, Y3
	VPMADDWD  Y4, Y5, Y5
	VPADDD    Y3, Y0, Y0
	VPADDD    Y5, Y1, Y1
	ADDQ      $32, SI
	ADDQ      $32, DI
	SUBQ      $32, CX
	JNZ       loop

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, AX
	VZEROUPPER
	MOVL         AX, ret+24(FP)
	RET

// func dotsAVX2(a, rows *int8, n, count int, out *int32)
// It is dotAVX2 for count vectors that lie one behind the other.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	MOVQ a+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ n+16(FP), BX
	MOVQ count+24(FP), DX
	MOVQ out+32(FP), R8

rows:
	MOVQ  SI, R9
	MOVQ  BX, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

row:
	VPMOVSXBW (R9), Y2
	VPMOVSXBW (DI), Y3
	VPMOVSXBW 16(R9), Y4
	VPMOVSXBW 16(DI), Y5
	VPMADDWD  Y2, Y3, Y3
	VPMADDWD  Y4, Y5, Y5
	VPADDD    Y3, Y0, Y0
	VPADDD    Y5, Y1, Y1
	ADDQ      $32, R9
	ADDQ      $32, DI
	SUBQ      $32, CX
	JNZ       row

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (R8)
	ADDQ         $4, R8
	DECQ         DX
	JNZ          rows
	VZEROUPPER
	RET

// func prefetchLines(p *byte, n int)
// n is positive. It asks for the cache lines of n bytes and waits for none of them.
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX

lines:
	PREFETCHT0 (SI)
	ADDQ       $64, SI
	SUBQ       $64, CX
	JG         lines
	RET

// func scanAVX2(codes, entries *byte, columns int, out *[32]uint16)
// A column is a byte of each of 32 codes. Its halves choose from two tables of sixteen entries of 127 at most, so that their
// sum fits a byte; bytes of even and of odd slots are added up as words.
TEXT ·scanAVX2(SB), NOSPLIT, $0-32
	MOVQ codes+0(FP), SI
	MOVQ entries+8(FP), DI
	MOVQ columns+16(FP), CX
	MOVQ out+24(FP), DX
	VPXOR    Y2, Y2, Y2
	VPXOR    Y3, Y3, Y3
	VPCMPEQB Y4, Y4, Y4
	VPSRLW   $12, Y4, Y0
	VPSLLW   $8, Y0, Y1
	VPOR     Y1, Y0, Y0      // 0x0f in every byte
	VPSRLW   $8, Y4, Y4      // 0x00ff in every word

columns:
	VMOVDQU        (SI), Y5
	VBROADCASTI128 (DI), Y6
	VBROADCASTI128 16(DI), Y7
	VPAND          Y0, Y5, Y8
	VPSRLW         $4, Y5, Y5
	VPAND          Y0, Y5, Y5
	VPSHUFB        Y8, Y6, Y6
	VPSHUFB        Y5, Y7, Y7
	VPADDB         Y6, Y7, Y6
	VPAND          Y4, Y6, Y7
	VPSRLW         $8, Y6, Y6
	VPADDW         Y7, Y2, Y2
	VPADDW         Y6, Y3, Y3
	ADDQ           $32, SI
	ADDQ           $32, DI
	DECQ           CX
	JNZ            columns

	VPUNPCKLWD   Y3, Y2, Y5  // slots 0-7 and 16-23
	VPUNPCKHWD   Y3, Y2, Y6  // slots 8-15 and 24-31
	VMOVDQU      X5, (DX)
	VMOVDQU      X6, 16(DX)
	VEXTRACTI128 $1, Y5, 32(DX)
	VEXTRACTI128 $1, Y6, 48(DX)
	VZEROUPPER
	RET
