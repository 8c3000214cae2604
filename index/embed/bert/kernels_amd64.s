#include "textflag.h"

// func tileAVX2(a *float32, lda int, b, c *float32, ldc, k int)
// Six rows of a times a panel of 16 columns: a register holds eight of the 96 sums, and k is gone through in order. Strides are in bytes.
TEXT ·tileAVX2(SB), NOSPLIT, $0-48
	MOVQ a+0(FP), SI
	MOVQ lda+8(FP), R8
	MOVQ b+16(FP), DI
	MOVQ c+24(FP), DX
	MOVQ ldc+32(FP), R9
	MOVQ k+40(FP), CX
	LEAQ (SI)(R8*2), R10
	ADDQ R8, R10             // the fourth row of a
	LEAQ (DX)(R9*2), R11
	ADDQ R9, R11             // and of c

	VMOVUPS (DX), Y4
	VMOVUPS 32(DX), Y5
	VMOVUPS (DX)(R9*1), Y6
	VMOVUPS 32(DX)(R9*1), Y7
	VMOVUPS (DX)(R9*2), Y8
	VMOVUPS 32(DX)(R9*2), Y9
	VMOVUPS (R11), Y10
	VMOVUPS 32(R11), Y11
	VMOVUPS (R11)(R9*1), Y12
	VMOVUPS 32(R11)(R9*1), Y13
	VMOVUPS (R11)(R9*2), Y14
	VMOVUPS 32(R11)(R9*2), Y15

loop:
	VMOVUPS      (DI), Y0
	VMOVUPS      32(DI), Y1
	VBROADCASTSS (SI), Y2
	VBROADCASTSS (SI)(R8*1), Y3
	VFMADD231PS  Y0, Y2, Y4
	VFMADD231PS  Y1, Y2, Y5
	VFMADD231PS  Y0, Y3, Y6
	VFMADD231PS  Y1, Y3, Y7
	VBROADCASTSS (SI)(R8*2), Y2
	VBROADCASTSS (R10), Y3
	VFMADD231PS  Y0, Y2, Y8
	VFMADD231PS  Y1, Y2, Y9
	VFMADD231PS  Y0, Y3, Y10
	VFMADD231PS  Y1, Y3, Y11
	VBROADCASTSS (R10)(R8*1), Y2
	VBROADCASTSS (R10)(R8*2), Y3
	VFMADD231PS  Y0, Y2, Y12
	VFMADD231PS  Y1, Y2, Y13
	VFMADD231PS  Y0, Y3, Y14
	VFMADD231PS  Y1, Y3, Y15
	ADDQ         $4, SI
	ADDQ         $4, R10
	ADDQ         $64, DI
	DECQ         CX
	JNZ          loop

	VMOVUPS Y4, (DX)
	VMOVUPS Y5, 32(DX)
	VMOVUPS Y6, (DX)(R9*1)
	VMOVUPS Y7, 32(DX)(R9*1)
	VMOVUPS Y8, (DX)(R9*2)
	VMOVUPS Y9, 32(DX)(R9*2)
	VMOVUPS Y10, (R11)
	VMOVUPS Y11, 32(R11)
	VMOVUPS Y12, (R11)(R9*1)
	VMOVUPS Y13, 32(R11)(R9*1)
	VMOVUPS Y14, (R11)(R9*2)
	VMOVUPS Y15, 32(R11)(R9*2)
	VZEROUPPER
	RET

// func geluAVX2(x *float32, n int, table *[16][8]float32)
// n is a positive multiple of 8. The rows of the table are those of geluTable.
TEXT ·geluAVX2(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ table+16(FP), DI
	VMOVUPS (DI), Y8         // √½
	VMOVUPS 32(DI), Y9       // the bound
	VMOVUPS 64(DI), Y10      // minus the bound
	VMOVUPS 96(DI), Y11      // ½

gelu:
	VMOVUPS     (SI), Y0
	VMULPS      Y8, Y0, Y1
	VMINPS      Y9, Y1, Y1
	VMAXPS      Y10, Y1, Y1
	VMULPS      Y1, Y1, Y2
	VMOVUPS     128(DI), Y3
	VFMADD213PS 160(DI), Y2, Y3
	VFMADD213PS 192(DI), Y2, Y3
	VFMADD213PS 224(DI), Y2, Y3
	VFMADD213PS 256(DI), Y2, Y3
	VFMADD213PS 288(DI), Y2, Y3
	VFMADD213PS 320(DI), Y2, Y3
	VMOVUPS     352(DI), Y4
	VFMADD213PS 384(DI), Y2, Y4
	VFMADD213PS 416(DI), Y2, Y4
	VFMADD213PS 448(DI), Y2, Y4
	VFMADD213PS 480(DI), Y2, Y4
	VMULPS      Y1, Y3, Y3
	VDIVPS      Y4, Y3, Y3
	VMULPS      Y11, Y0, Y0
	VFMADD231PS Y3, Y0, Y0
	VMOVUPS     Y0, (SI)
	ADDQ        $32, SI
	SUBQ        $8, CX
	JNZ         gelu
	VZEROUPPER
	RET

// func expAVX2(x *float32, n int, scale, less float32, table *[11][8]float32) float32
// n is a positive multiple of 8. The rows of the table are those of expTable.
TEXT ·expAVX2(SB), NOSPLIT, $0-36
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS scale+16(FP), Y8
	VBROADCASTSS less+20(FP), Y9
	MOVQ table+24(FP), DI
	VMOVUPS (DI), Y10        // the bound
	VMOVUPS 32(DI), Y11      // 1/ln 2
	VMOVUPS 64(DI), Y12      // ln 2, its first bits
	VMOVUPS 96(DI), Y13      // and the rest
	VXORPS  Y7, Y7, Y7

exp:
	VMOVUPS      (SI), Y0
	VMULPS       Y8, Y0, Y0
	VSUBPS       Y9, Y0, Y0
	VMAXPS       Y10, Y0, Y0
	VMULPS       Y11, Y0, Y1
	VROUNDPS     $0, Y1, Y1
	VFNMADD231PS Y12, Y1, Y0
	VFNMADD231PS Y13, Y1, Y0
	VMOVUPS      128(DI), Y2
	VFMADD213PS  160(DI), Y0, Y2
	VFMADD213PS  192(DI), Y0, Y2
	VFMADD213PS  224(DI), Y0, Y2
	VFMADD213PS  256(DI), Y0, Y2
	VFMADD213PS  288(DI), Y0, Y2
	VFMADD213PS  320(DI), Y0, Y2
	VCVTPS2DQ    Y1, Y1
	VPSLLD       $23, Y1, Y1
	VPADDD       Y1, Y2, Y2
	VADDPS       Y2, Y7, Y7
	VMOVUPS      Y2, (SI)
	ADDQ         $32, SI
	SUBQ         $8, CX
	JNZ          exp

	VEXTRACTF128 $1, Y7, X0
	VADDPS       X0, X7, X7
	VPERMILPS    $0x4e, X7, X0
	VADDPS       X0, X7, X7
	VPERMILPS    $0xb1, X7, X0
	VADDPS       X0, X7, X7
	VMOVSS       X7, ret+32(FP)
	VZEROUPPER
	RET
