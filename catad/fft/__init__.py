"""Fourier, cosine and sine transforms as morphisms.

The names are those of NumPy and SciPy. Complex arrays are pairs (re, im) of real ones, in arguments and in results. Floats keep
their dtype, integers become float64.

>>> import catad as ct, numpy as np
>>> smooth = ct.fft.rfft() >> ct.cross(ct.slice(0, 2), ct.slice(0, 2)) >> ct.fft.irfft(4)
>>> smooth(np.array([1.0, 0.0, 0.0, 0.0]))
array([ 0.75,  0.25, -0.25,  0.25])
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.fft.convolution import fftconvolve as fftconvolve
    from catad.fft.cosines import dct as dct
    from catad.fft.cosines import dctn as dctn
    from catad.fft.cosines import dst as dst
    from catad.fft.cosines import dstn as dstn
    from catad.fft.cosines import idct as idct
    from catad.fft.cosines import idctn as idctn
    from catad.fft.cosines import idst as idst
    from catad.fft.cosines import idstn as idstn
    from catad.fft.order import fftfreq as fftfreq
    from catad.fft.order import fftshift as fftshift
    from catad.fft.order import ifftshift as ifftshift
    from catad.fft.order import rfftfreq as rfftfreq
    from catad.fft.pairs import fft as fft
    from catad.fft.pairs import fft2 as fft2
    from catad.fft.pairs import fftn as fftn
    from catad.fft.pairs import ifft as ifft
    from catad.fft.pairs import ifft2 as ifft2
    from catad.fft.pairs import ifftn as ifftn
    from catad.fft.real import hfft as hfft
    from catad.fft.real import hfft2 as hfft2
    from catad.fft.real import hfftn as hfftn
    from catad.fft.real import ihfft as ihfft
    from catad.fft.real import ihfft2 as ihfft2
    from catad.fft.real import ihfftn as ihfftn
    from catad.fft.real import irfft as irfft
    from catad.fft.real import irfft2 as irfft2
    from catad.fft.real import irfftn as irfftn
    from catad.fft.real import rfft as rfft
    from catad.fft.real import rfft2 as rfft2
    from catad.fft.real import rfftn as rfftn

first_use(__name__)
