"""Several streams that make one image: the modules of one detector, each with an endpoint of its own.

`merge` puts together what belongs to one trigger: the `beginning` of a series, the frames that wait for a
module in the `frame_queue`, and the `ending`; `collector` enters the frame into the account. What a module's
stream says is in `penstock.stins.modules`; where modules sit, and their pixels, in `receiver.processing`.
"""
